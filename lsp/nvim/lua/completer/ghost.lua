--- The ghost text on the screen: one extmark, replaced in place, so that no frame lacks it.

local M = {}

M.GROUP = "CompleterGhostText"

local namespace = vim.api.nvim_create_namespace("completer")
local MARK = 1

function M.highlight()
  vim.api.nvim_set_hl(0, M.GROUP, { default = true, link = "NonText" })
end

--- Virtual text shows a tab as ^I, so tabs become spaces, as wide as they would be from this column of the screen on.
local function expanded(line, column)
  local text = ""
  for piece, tab in line:gsub("\r", ""):gmatch("([^\t]*)(\t?)") do
    text = text .. piece
    if tab ~= "" then
      local at = column + vim.fn.strdisplaywidth(text, column)
      text = text .. (" "):rep(vim.fn.strdisplaywidth("\t", at))
    end
  end
  return text
end

--- Show `rest` at a place in a buffer, instead of what was shown before.
---@param replaced string what follows the place and will go: not shown a second time
function M.show(buffer, row, column, rest, replaced)
  local lines = vim.split(rest, "\n", { plain = true })
  if #lines == 1 and replaced ~= "" and vim.endswith(rest, replaced) then
    lines[1] = rest:sub(1, #rest - #replaced)
  end
  local before = vim.api.nvim_buf_get_text(buffer, row, 0, row, column, {})[1]
  local first = expanded(lines[1], vim.fn.strdisplaywidth(before))
  local below = {}
  for i = 2, #lines do
    below[i - 1] = { { expanded(lines[i], 0), M.GROUP } }
  end
  vim.api.nvim_buf_set_extmark(buffer, namespace, row, column, {
    id = MARK,
    virt_text = { { first, M.GROUP } },
    virt_text_pos = "inline",
    virt_lines = #below > 0 and below or nil,
    hl_mode = "replace", -- or a matching bracket beside it would give it its own colour
  })
end

function M.clear(buffer)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_buf_del_extmark(buffer, namespace, MARK)
  end
end

return M
