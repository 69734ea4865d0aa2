--- The language server: its entry in vim.lsp.config, requests and notifications to it, what it says by itself.

local options = require("completer.options")
local program = require("completer.program")

local M = {}

M.NAME = "completer"

local REQUEST = "textDocument/inlineCompletion"
local CHUNK = "completer/inlineCompletionChunk"
local STATUS = "completer/didChangeStatus"

M.AUTOMATIC, M.INVOKED = 2, 1

--- Announce the server to Neovim, which starts it with the first file.
---@param on { chunk: fun(client_id: integer, chunk: table), status: fun(client_id: integer, status: table) }
---@return string? problem why it cannot be started
function M.enable(on)
  local path, problem = program.find(options.current.program)
  if not path then
    return problem
  end
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }
  vim.lsp.config(M.NAME, {
    cmd = { path, "lsp" },
    cmd_cwd = vim.uv.os_homedir(), -- nothing in a project takes part in it
    root_markers = { ".git", ".hg" },
    init_options = options.for_server(),
    capabilities = capabilities,
    handlers = {
      [CHUNK] = function(_, chunk, context)
        on.chunk(context.client_id, chunk)
      end,
      [STATUS] = function(_, status, context)
        on.status(context.client_id, status)
      end,
    },
  })
  vim.lsp.enable(M.NAME)
end

---@return vim.lsp.Client[]
function M.all()
  return vim.lsp.get_clients({ name = M.NAME })
end

---@return vim.lsp.Client?
function M.of(buffer)
  return vim.lsp.get_clients({ name = M.NAME, bufnr = buffer })[1]
end

--- Tell running servers what setup() was given now.
function M.configure()
  for _, client in ipairs(M.all()) do
    client:notify("workspace/didChangeConfiguration", { settings = { completer = options.for_server() } })
  end
end

function M.snooze(minutes)
  for _, client in ipairs(M.all()) do
    client:notify("completer/snooze", { minutes = minutes })
  end
end

--- Ask for suggestions at the cursor.
---@param kind integer AUTOMATIC or INVOKED
---@param choice? { text: string, column: integer } chosen in the popup
---@param answered fun(items: table[])
---@return fun() cancel
function M.ask(client, buffer, kind, choice, answered)
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  params.context = { triggerKind = kind }
  if choice then
    local row, cursor = params.position.line, params.position
    local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]
    local character = vim.str_utfindex(line, client.offset_encoding, choice.column)
    local range = { start = { line = row, character = character }, ["end"] = cursor }
    params.context.selectedCompletionInfo = { range = range, text = choice.text }
  end
  local _, id = client:request(REQUEST, params, function(_, result)
    answered(result and (result.items or result) or {})
  end, buffer)
  return function()
    if id and client.requests[id] then
      client:cancel_request(id)
    end
  end
end

function M.did_show(suggestion)
  suggestion.client:notify("textDocument/didShowCompletion", { item = suggestion.item })
end

---@param length integer of all that has been accepted of it, in UTF-16 units
function M.did_accept_part(suggestion, length)
  local params = { item = suggestion.item, acceptedLength = length }
  suggestion.client:notify("textDocument/didPartiallyAcceptCompletion", params)
end

function M.did_accept(suggestion)
  local command = suggestion.item.command
  if command then
    suggestion.client:exec_cmd(command, { bufnr = suggestion.buffer }, function() end)
  end
end

function M.did_reject(suggestion)
  suggestion.client:notify("completer/didRejectCompletion", { item = suggestion.item })
end

return M
