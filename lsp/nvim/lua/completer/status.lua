--- What the server last said about the state of things, and a few words of it for the status line.

local client = require("completer.client")
local typing = require("completer.typing")

local M = {}

local IN_SERVICE = { ready = true, thinking = true }

local by_client = {} ---@type table<integer, table>

---@param status { busy: boolean, kind: string, message: string }
function M.set(client_id, status)
  local before = by_client[client_id]
  by_client[client_id] = status
  vim.cmd.redrawstatus()
  if before and not IN_SERVICE[before.message] and status.message == "ready" then
    typing.ask_again()
  end
end

---@return table? status of a buffer's server
function M.of(buffer)
  local server = client.of(buffer)
  return server and by_client[server.id]
end

local function numbers(status)
  local parts = {}
  if type(status.source) == "string" then
    parts[#parts + 1] = ("%s k=%d"):format(status.source, status.k)
  end
  if type(status.acceptance) == "number" then
    parts[#parts + 1] = ("%d%%"):format(status.acceptance * 100 + 0.5)
  end
  if type(status.tokens_per_s) == "number" then
    parts[#parts + 1] = ("%.0f tokens/s"):format(status.tokens_per_s)
  end
  return table.concat(parts, " ")
end

--- For 'statusline', which is short: what the server says up to its reasons. "" where the server has no part in the buffer.
function M.line()
  local buffer = vim.api.nvim_get_current_buf()
  if not client.of(buffer) then
    return ""
  end
  if not typing.is_on() or vim.b[buffer].completer == false then
    return "completer: off"
  end
  local status = M.of(buffer)
  if not status then
    return "completer: starting"
  end
  local words = status.message == "ready" and numbers(status) or ""
  return "completer: " .. (words ~= "" and words or status.message:match("^[^:;]*"))
end

return M
