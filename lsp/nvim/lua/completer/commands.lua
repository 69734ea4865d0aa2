--- `:Completer stats|why|log|toggle|snooze`.

local options = require("completer.options")
local program = require("completer.program")

local M = {}

local function say(words)
  vim.api.nvim_echo({ { "completer: " .. words } }, false, {})
end

--- A window with what `completer` answers to a command line.
local function run(arguments)
  local path, problem = program.find(options.current.program)
  if not path then
    vim.notify("completer: " .. problem, vim.log.levels.ERROR)
    return
  end
  local title = "completer " .. table.concat(arguments, " ")
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { title .. " ..." })
  vim.cmd("botright split")
  vim.api.nvim_win_set_buf(0, buffer)
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer })
  local command = vim.list_extend({ path }, arguments)
  local settings = { text = true, cwd = vim.uv.os_homedir(), env = { NO_COLOR = "1", COLUMNS = tostring(vim.o.columns) } }
  vim.system(command, settings, function(result)
    vim.schedule(function()
      if not vim.api.nvim_buf_is_valid(buffer) then
        return
      end
      local said = vim.trim(result.stdout .. result.stderr)
      local lines = vim.split(said ~= "" and said or title .. ": nothing to show", "\n", { plain = true })
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
      vim.bo[buffer].modifiable = false
    end)
  end)
end

local COMMANDS = {
  stats = function(arguments)
    run(vim.list_extend({ "stats" }, arguments))
  end,
  why = function()
    local file = vim.api.nvim_buf_get_name(0)
    run(file ~= "" and { "why", file } or { "why" })
  end,
  log = function()
    run({ "logs" })
  end,
  toggle = function()
    say(require("completer").toggle() and "on" or "off")
  end,
  snooze = function(arguments)
    local minutes = tonumber(arguments[1] or "30")
    if not minutes or minutes < 0 then
      vim.notify(("completer: %s is not a number of minutes"):format(arguments[1]), vim.log.levels.ERROR)
      return
    end
    require("completer").snooze(minutes)
    say(minutes > 0 and ("quiet for %g minutes"):format(minutes) or "awake")
  end,
}

local function names(beginning)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, beginning)
  end, vim.fn.sort(vim.tbl_keys(COMMANDS)))
end

function M.create()
  vim.api.nvim_create_user_command("Completer", function(call)
    local name = table.remove(call.fargs, 1)
    local command = COMMANDS[name]
    if command then
      command(call.fargs)
    else
      local words = ("completer: no command %s; try %s"):format(name, table.concat(names(""), ", "))
      vim.notify(words, vim.log.levels.ERROR)
    end
  end, {
    nargs = "+",
    desc = "Statistics, reasons, log, toggle and snooze of completer",
    complete = function(beginning, line)
      return line:match("^%s*%S+%s+%S*$") and names(beginning) or {}
    end,
  })
end

return M
