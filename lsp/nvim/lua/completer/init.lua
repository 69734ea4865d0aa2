--- Inline completion from `completer`, a language server with a model on your own machine. See |completer|.

local M = {}

local MINIMUM = "0.11"

local function watch()
  local typing = require("completer.typing")
  local ghost = require("completer.ghost")
  local group = vim.api.nvim_create_augroup("completer", {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on({ "TextChangedI", "TextChangedP", "CursorMovedI" }, function()
    typing.refresh()
  end)
  on({ "InsertEnter", "CompleteChanged", "CompleteDone", "LspAttach" }, function() -- before it is as it says
    vim.schedule(typing.refresh)
  end)
  on({ "InsertLeave", "BufLeave" }, function()
    typing.leave()
  end)
  on("ColorScheme", ghost.highlight)
  ghost.highlight()
end

--- Start the server with the files that are opened, and show what it suggests. May be called again.
---@param given? table see |completer-options|
function M.setup(given)
  if vim.fn.has("nvim-" .. MINIMUM) == 0 then
    vim.notify(("completer: Neovim %s or newer is needed"):format(MINIMUM), vim.log.levels.ERROR)
    return
  end
  local options = require("completer.options")
  local client = require("completer.client")
  local typing = require("completer.typing")
  options.set(given)
  local problem = client.enable({ chunk = typing.chunk, status = require("completer.status").set })
  if problem then
    vim.notify("completer: " .. problem, vim.log.levels.ERROR)
  end
  client.configure()
  require("completer.commands").create()
  require("completer.keys").map(options.current.ghost_text and options.current.keys or {})
  require("completer.rivals").watch()
  watch()
  typing.start_over()
end

--- Insert the suggestion. This and what follows answer whether there was one.
function M.accept()
  return require("completer.acceptance").accept()
end

function M.accept_word()
  return require("completer.acceptance").accept_word()
end

function M.accept_line()
  return require("completer.acceptance").accept_line()
end

function M.dismiss()
  return require("completer.typing").dismiss()
end

function M.is_visible()
  return require("completer.typing").visible() ~= nil
end

local function turn(step)
  local number, count = require("completer.typing").turn(step)
  local words = count > 1 and ("suggestion %d of %d"):format(number, count) or "there is no other suggestion"
  vim.api.nvim_echo({ { "completer: " .. words } }, false, {})
  return count > 1
end

function M.next()
  return turn(1)
end

function M.previous()
  return turn(-1)
end

--- Ask for a suggestion now.
function M.trigger()
  require("completer.typing").refresh(require("completer.client").INVOKED)
end

--- Stay away, until pause(false): for plugins that draw where the suggestion would be.
---@param should_pause boolean
function M.pause(should_pause)
  require("completer.typing").pause(should_pause)
end

--- Switch suggestions off, or on again.
---@return boolean whether they are on now
function M.toggle()
  local typing = require("completer.typing")
  typing.switch(not typing.is_on())
  vim.cmd.redrawstatus()
  return typing.is_on()
end

--- No suggestions for so many minutes; 0 ends it.
---@param minutes? number 30 unless given
function M.snooze(minutes)
  require("completer.client").snooze(minutes or 30)
end

--- A few words about the state of things, for 'statusline'.
---@return string
function M.statusline()
  return require("completer.status").line()
end

return M
