--- What a user may choose in setup(). The server is told those that concern it; the TOML file has everything else.

local M = {}

M.defaults = {
  program = "", -- where `completer` is; "" looks on the PATH
  ghost_text = true, -- false: only the language server, for another plugin that shows its suggestions
  automatic = true, -- while typing; false: only when asked for
  single_line = false, -- never more than the line
  max_lines = 0, -- 0 leaves it to the settings
  popup = false, -- suggestions in the completion popup, too
  keys = { -- false leaves a key, or all of them, to you; a key that you have mapped is yours anyway
    accept = "<Tab>",
    accept_word = "<M-Right>",
    accept_line = "<M-C-Right>",
    next = "<M-]>",
    previous = "<M-[>",
    dismiss = "<C-]>",
    trigger = "<M-\\>",
  },
}

M.current = vim.deepcopy(M.defaults)

--- Take over what setup() was given. Errors name what is unknown or of the wrong kind.
---@param given? table
function M.set(given)
  local chosen = vim.deepcopy(M.defaults)
  for name, value in pairs(given or {}) do
    local default = M.defaults[name]
    if default == nil then
      local known = table.concat(vim.fn.sort(vim.tbl_keys(M.defaults)), ", ")
      error(("completer: there is no option %s; there are %s"):format(name, known), 0)
    end
    if name == "keys" then
      chosen.keys = M.keys(value)
    elseif type(value) ~= type(default) then
      error(("completer: option %s must be a %s, not %s"):format(name, type(default), vim.inspect(value)), 0)
    else
      chosen[name] = value
    end
  end
  M.current = chosen
end

--- The keys by what they do, without those that are switched off.
function M.keys(given)
  if given == false then
    return {}
  end
  vim.validate("completer: option keys", given, "table")
  local keys = vim.tbl_extend("force", M.defaults.keys, given)
  for action, key in pairs(given) do
    if M.defaults.keys[action] == nil then
      error(("completer: there is no key for %s"):format(action), 0)
    end
    if key == false then
      keys[action] = nil
    end
  end
  return keys
end

--- What of it the server wants to know.
function M.for_server()
  local current = M.current
  return {
    streaming = current.ghost_text,
    automatic = current.automatic,
    single_line = current.single_line,
    max_lines = current.max_lines,
    popup = current.popup,
  }
end

return M
