--- Keys in insert mode. Only those that are free are taken, and without a suggestion each does what it did before.

local typing = require("completer.typing")

local M = {}

local TITLES = {
  accept = "Accept the suggestion",
  accept_word = "Accept the suggestion's next word",
  accept_line = "Accept the suggestion's next line",
  next = "Show the next suggestion",
  previous = "Show the suggestion before",
  dismiss = "Dismiss the suggestion",
  trigger = "Ask for a suggestion",
}

--- What the key does where nothing is suggested. Neovim itself maps <Tab> to go on in a snippet.
local function usual(key)
  if vim.keycode(key) == "\t" and vim.snippet.active({ direction = 1 }) then
    return "<Cmd>lua vim.snippet.jump(1)<CR>"
  end
  return key
end

local function is_free(found)
  return vim.tbl_isempty(found) or vim.startswith(found.desc or "", "vim.snippet.jump")
end

local function map(action, key)
  vim.keymap.set("i", key, function()
    if action == "trigger" or typing.visible() then
      return ("<Cmd>lua require('completer').%s()<CR>"):format(action)
    end
    return usual(key)
  end, { expr = true, replace_keycodes = true, desc = "completer: " .. TITLES[action] })
end

local ours = {} ---@type table<string, string> action -> key
local before = {} ---@type table<string, table> key -> what Neovim itself had there

--- Map what is free, and give back what was mapped before.
---@param keys table<string, string>
function M.map(keys)
  for _, key in pairs(ours) do
    vim.keymap.del("i", key)
    if before[key] then
      vim.fn.mapset("i", false, before[key])
    end
  end
  ours, before = {}, {}
  for action, key in pairs(keys) do
    local found = vim.fn.maparg(key, "i", false, true)
    if is_free(found) then
      before[key] = next(found) and found
      ours[action] = key
      map(action, key)
    end
  end
end

---@return table<string, string>
function M.mapped()
  return ours
end

return M
