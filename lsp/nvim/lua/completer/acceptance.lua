--- Taking over a suggestion, or its next word or line. What is taken is one step of undo.

local client = require("completer.client")
local Suggestion = require("completer.suggestion")
local typing = require("completer.typing")

local M = {}

local function all(rest)
  return rest
end

--- What is typed before and after it are steps of their own.
local function break_undo()
  vim.cmd("let &g:undolevels = &g:undolevels")
end

local function insert(buffer, text, replaced)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local lines = vim.split(text, "\n", { plain = true })
  break_undo()
  vim.api.nvim_buf_set_text(buffer, row - 1, column, row - 1, column + #replaced, lines)
  local end_column = #lines[#lines] + (#lines == 1 and column or 0)
  vim.api.nvim_win_set_cursor(0, { row + #lines - 1, end_column })
  break_undo()
end

---@param part fun(rest: string): string which part of what is left is taken
---@return boolean whether there was a suggestion
local function take(part, again)
  local suggestion, rest = typing.visible()
  if not suggestion or not rest then
    return false
  end
  if vim.fn.pumvisible() == 1 then -- the suggestion begins with what is chosen there
    local call = ("<C-y><Cmd>lua require('completer').%s()<CR>"):format(again)
    vim.api.nvim_feedkeys(vim.keycode(call), "ni", false)
    return true
  end
  local text = part(rest)
  local left = rest:sub(#text + 1)
  if left == "" then
    typing.accepted()
    insert(suggestion.buffer, text, suggestion.replaced)
    client.did_accept(suggestion)
  else
    insert(suggestion.buffer, text, "")
    client.did_accept_part(suggestion, suggestion:used_length(left))
  end
  typing.refresh()
  return true
end

function M.accept()
  return take(all, "accept")
end

function M.accept_word()
  return take(Suggestion.word, "accept_word")
end

function M.accept_line()
  return take(Suggestion.line, "accept_line")
end

return M
