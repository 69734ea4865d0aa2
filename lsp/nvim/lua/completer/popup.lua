--- What stands in the way: Neovim's own completion popup. A suggestion goes on with what is chosen in it, or stays away.

local M = {}

---@return boolean is_free false: a popup is open, and nothing in it is chosen, or nothing that goes on with the text
---@return { text: string, column: integer }? choice what is chosen but not in the text yet, and where it would begin
function M.choice(line, column)
  if vim.fn.pumvisible() == 0 then
    return true
  end
  local info = vim.fn.complete_info({ "selected", "items" })
  local chosen = info.items[info.selected + 1]
  if info.selected < 0 or chosen == nil or chosen.word == "" then
    return false
  end
  local before = line:sub(1, column)
  for length = math.min(#chosen.word, #before), 0, -1 do
    if vim.endswith(before, chosen.word:sub(1, length)) then
      if length == #chosen.word then
        return true
      end
      return true, { text = chosen.word, column = column - length }
    end
  end
end

return M
