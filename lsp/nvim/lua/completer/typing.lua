--- What is suggested at the cursor while the user types: when to ask for it, when it stays, when it goes.
--- The server decides how long to wait for the next key; a key that goes on with the suggestion asks nothing.

local client = require("completer.client")
local ghost = require("completer.ghost")
local options = require("completer.options")
local popup = require("completer.popup")
local Suggestion = require("completer.suggestion")

local M = {}

local is_on = true
local is_paused = false
local suggestions = {} ---@type completer.Suggestion[] alternatives for one place
local chosen = 1
local is_drawn = false
local question = nil ---@type { cancel: fun() }? what is being asked
local asked_at = nil ---@type string? where, so that nothing is asked twice
local early = nil ---@type table? a chunk that came before the answer it belongs to

local function is_inserting()
  return vim.api.nvim_get_mode().mode:match("^i") ~= nil
end

---@return { buffer: integer, row: integer, column: integer, line: string }
local function cursor()
  local position = vim.api.nvim_win_get_cursor(0)
  return {
    buffer = vim.api.nvim_get_current_buf(),
    row = position[1] - 1,
    column = position[2],
    line = vim.api.nvim_get_current_line(),
  }
end

local function hide()
  if is_drawn then
    ghost.clear(suggestions[chosen].buffer)
    is_drawn = false
  end
end

--- Forget what is suggested. The server learns that it is gone from the next request, or from did_reject.
local function drop()
  hide()
  suggestions, chosen, early = {}, 1, nil
end

local function stop_asking()
  if question then
    question.cancel()
    question = nil
  end
end

--- The suggestion in force, and what of it is left at the cursor; nil where nothing is.
---@return completer.Suggestion?, string?
local function current(at)
  local suggestion = suggestions[chosen]
  local rest = suggestion and suggestion.buffer == at.buffer and suggestion:rest(at.row, at.column)
  if rest and rest ~= "" then
    return suggestion, rest
  end
end

local function draw(suggestion, rest, at)
  ghost.show(at.buffer, at.row, at.column, rest, suggestion.replaced)
  is_drawn = true
  if not suggestion.is_told then
    suggestion.is_told = true
    client.did_show(suggestion)
  end
end

local function answered(items, at, server)
  local chunk = early
  early = nil
  for _, item in ipairs(items) do
    local suggestion = Suggestion.new(server, item, at)
    suggestions[#suggestions + 1] = suggestion
    if suggestion and chunk and chunk.id == suggestion:id() then
      suggestion:grow(chunk.insertText)
    end
  end
  M.refresh()
end

local function ask(kind, at, choice)
  local server = client.of(at.buffer)
  if not server then
    return
  end
  local before, mine = question, {}
  question = mine
  mine.cancel = client.ask(server, at.buffer, kind, choice, function(items)
    if question == mine then
      question = nil
      if vim.api.nvim_get_current_buf() == at.buffer then
        answered(items, at, server)
      end
    end
  end)
  if before then
    before.cancel() -- only now, when the server knows what was typed: it may go on with what it is doing
  end
end

--- Whether anything is to be suggested in a buffer.
local function is_wanted(buffer)
  return is_on and not is_paused and options.current.ghost_text and vim.b[buffer].completer ~= false
end

--- Look at the cursor again: keep what is shown, or ask.
---@param kind? integer INVOKED asks even where nothing has changed since
function M.refresh(kind)
  if not is_inserting() then
    return
  end
  local at = cursor()
  local is_free, choice = popup.choice(at.line, at.column)
  if not is_wanted(at.buffer) or not is_free then
    hide()
    stop_asking()
    return
  end
  local suggestion, rest = current(at)
  if suggestion and not (choice and not suggestion:extends(choice, at.row)) then
    draw(suggestion, rest, at)
    return
  end
  local tick = vim.api.nvim_buf_get_changedtick(at.buffer)
  local here = vim.json.encode({ at.buffer, tick, at.row, at.column, choice or vim.NIL })
  if here == asked_at and kind ~= client.INVOKED then
    hide()
    return
  end
  drop()
  asked_at = here
  if kind == client.INVOKED or options.current.automatic then
    ask(kind or client.AUTOMATIC, at, choice)
  else
    stop_asking()
  end
end

--- A suggestion has grown.
function M.chunk(client_id, chunk)
  for _, suggestion in ipairs(suggestions) do
    if suggestion.client.id == client_id and suggestion:id() == chunk.id then
      suggestion:grow(chunk.insertText)
      M.refresh()
      return
    end
  end
  early = chunk
end

--- Options have changed: nothing from before counts.
function M.start_over()
  stop_asking()
  drop()
  asked_at = nil
  M.refresh()
end

--- The server can do what it could not when it was asked.
function M.ask_again()
  if #suggestions == 0 and not question then
    asked_at = nil
    M.refresh()
  end
end

--- The user turns it down. It is not asked for again before something is typed.
---@return boolean whether there was anything
function M.dismiss()
  local suggestion = suggestions[chosen]
  local was_drawn = is_drawn
  stop_asking()
  drop()
  if suggestion and suggestion.is_told then
    client.did_reject(suggestion)
  end
  return was_drawn
end

--- The user leaves insert mode, or the buffer.
function M.leave()
  M.dismiss()
  asked_at = nil
end

---@return completer.Suggestion? suggestion that is on the screen
---@return string? rest what of it is left
function M.visible()
  if is_drawn and is_inserting() then
    return current(cursor())
  end
end

--- It has been accepted to its end.
function M.accepted()
  drop()
end

--- Show another of the alternatives.
---@param step integer 1 for the next one, -1 for the one before
---@return integer number which of them it is
---@return integer count
function M.turn(step)
  local count = #suggestions
  if count > 1 then
    hide()
    chosen = (chosen - 1 + step) % count + 1
    M.refresh()
  end
  return chosen, count
end

--- Switch suggestions on or off, everywhere.
function M.switch(should_be_on)
  is_on = should_be_on
  if not is_on then
    M.dismiss()
  end
  asked_at = nil
  M.refresh()
end

function M.is_on()
  return is_on
end

--- Stay away while something else is on the screen, such as another plugin's popup.
function M.pause(should_be_paused)
  is_paused = should_be_paused
  M.refresh()
end

return M
