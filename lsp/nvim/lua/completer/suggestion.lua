--- One suggestion in one buffer: what of it is left at the cursor, as the user types along, and its parts.
--- Columns are bytes here, as in Neovim's API; `\n` parts the lines of its text whatever the file's line ends.

local LINE_END = { dos = "\r\n", mac = "\r", unix = "\n" }

---@class completer.Suggestion
---@field buffer integer
---@field client vim.lsp.Client
---@field item table as the server gave it
---@field text string what is inserted from `row`, `column` on
---@field row integer
---@field column integer
---@field head string the line before it
---@field tail string the rest of the cursor's line
---@field replaced string the beginning of `tail` that goes when it is accepted
local Suggestion = {}
Suggestion.__index = Suggestion

---@param at { buffer: integer, row: integer, column: integer, line: string } the cursor when it was asked for
---@return completer.Suggestion? nil where its range does not hold the cursor, or holds other lines
function Suggestion.new(client, item, at)
  local self = setmetatable({ buffer = at.buffer, client = client, item = item }, Suggestion)
  local first, last = at.column, at.column
  if item.range then
    local range = { item.range.start, item.range["end"] }
    for i, position in ipairs(range) do
      if position.line ~= at.row then
        return nil
      end
      range[i] = vim.str_byteindex(at.line, client.offset_encoding, position.character, false)
    end
    first, last = unpack(range)
    if first > at.column or last < at.column then
      return nil
    end
  end
  self.row, self.column = at.row, first
  self.head = at.line:sub(1, first)
  self.tail = at.line:sub(at.column + 1)
  self.replaced = at.line:sub(at.column + 1, last)
  self:grow(type(item.insertText) == "table" and item.insertText.value or item.insertText)
  return self
end

--- The server's name for it.
function Suggestion:id()
  return vim.tbl_get(self.item, "command", "arguments", 1)
end

--- It has got longer.
---@param text string all of it, with the file's line ends
function Suggestion:grow(text)
  self.line_end = LINE_END[vim.bo[self.buffer].fileformat]
  self.text = self.line_end == "\n" and text or text:gsub(vim.pesc(self.line_end), "\n")
end

--- What is left of it at a cursor, or nil where the user went another way.
function Suggestion:rest(row, column)
  if row < self.row or (row == self.row and column < self.column) then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(self.buffer, self.row, row + 1, false)
  if #lines ~= row - self.row + 1 or lines[1]:sub(1, self.column) ~= self.head then
    return nil
  end
  if lines[#lines]:sub(column + 1) ~= self.tail then
    return nil
  end
  lines[#lines] = lines[#lines]:sub(1, column)
  lines[1] = lines[1]:sub(self.column + 1)
  local typed = table.concat(lines, "\n")
  return vim.startswith(self.text, typed) and self.text:sub(#typed + 1) or nil
end

--- Whether it goes on with the popup's choice.
---@param choice { text: string, column: integer } which stands from this column of the cursor's line on
function Suggestion:extends(choice, row)
  if row ~= self.row or choice.column < self.column then
    return false
  end
  local line = vim.api.nvim_buf_get_lines(self.buffer, row, row + 1, false)[1]
  return vim.startswith(self.text, line:sub(self.column + 1, choice.column) .. choice.text)
end

--- The first word of what is left, with the white space and line ends before it.
function Suggestion.word(rest)
  local word = vim.fn.matchstr(rest, [[^\_s*\%(\k\+\|\%(\k\@!\S\)\+\)]])
  return word ~= "" and word or rest
end

--- What is left of its line, or the next line where nothing is left of this one.
function Suggestion.line(rest)
  return rest:match("^\n*[^\n]*")
end

--- How much of it has been used when `rest` is left, in UTF-16 units of the server's text.
function Suggestion:used_length(rest)
  local used = self.text:sub(1, #self.text - #rest):gsub("\n", self.line_end)
  return vim.str_utfindex(used, "utf-16")
end

return Suggestion
