--- :checkhealth completer

local client = require("completer.client")
local keys = require("completer.keys")
local options = require("completer.options")
local program = require("completer.program")
local rivals = require("completer.rivals")
local status = require("completer.status")

local M = {}

local DOCTOR_MS = 30000

local function run(command)
  local is_started, process = pcall(vim.system, command, { text = true, cwd = vim.uv.os_homedir() })
  return is_started and process:wait(DOCTOR_MS) or { code = -1, stdout = "", stderr = process }
end

local function check_program()
  local path, problem = program.find(options.current.program)
  if not path then
    vim.health.error(problem)
    return nil
  end
  local result = run({ path, "--version" })
  if result.code ~= 0 then
    vim.health.error(("%s does not run: %s"):format(path, vim.trim(result.stderr)))
    return nil
  end
  vim.health.ok(("%s: %s"):format(path, vim.trim(result.stdout)))
  return path
end

local function check_server()
  local servers = client.all()
  if #servers == 0 then
    vim.health.info("no file of this session is served yet; open one, then look again")
  end
  for _, server in ipairs(servers) do
    local buffer = next(server.attached_buffers)
    local said = buffer and status.of(buffer)
    local words = ("server for %s: %s"):format(server.root_dir or "single files", said and said.message or "starting")
    if not server.server_capabilities.inlineCompletionProvider then
      vim.health.error(words .. "; it does not offer inline completion")
    elseif said and said.kind == "Error" then
      vim.health.error(words)
    else
      vim.health.ok(words)
    end
  end
end

local function check_keys()
  local mapped = keys.mapped()
  for action, key in vim.spairs(options.current.keys) do
    if mapped[action] then
      vim.health.ok(("%s: %s"):format(key, action))
    else
      local words = "%s is mapped already; map a key of yours to require('completer').%s()"
      vim.health.info(words:format(key, action))
    end
  end
end

local function check_rivals()
  local found = rivals.found()
  if #found > 0 then
    vim.health.warn(("%s is loaded, too; switch one of them off"):format(table.concat(found, ", ")))
  else
    vim.health.ok("no other plugin found that suggests at the cursor")
  end
end

--- What `completer doctor` finds out about the installation and the machine.
local function check_machine(path)
  local result = run({ path, "doctor", "--json" })
  local is_read, report = pcall(vim.json.decode, result.stdout)
  if not is_read then
    vim.health.error(("`completer doctor` failed: %s"):format(vim.trim(result.stderr):match("[^\n]*$")))
    return
  end
  local tell = { ok = vim.health.ok, note = vim.health.warn, broken = vim.health.error }
  for _, check in ipairs(report.checks) do
    tell[check.status](("%s: %s"):format(check.name, check.found), check.fix ~= "" and check.fix or nil)
  end
end

function M.check()
  vim.health.start("completer: Neovim")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.health.ok(("Neovim %s"):format(tostring(vim.version())))
  else
    vim.health.error("Neovim 0.11 or newer is needed")
    return
  end
  check_keys()
  check_rivals()
  vim.health.start("completer: server")
  local path = check_program()
  check_server()
  if path then
    vim.health.start("completer: machine")
    check_machine(path)
  end
end

return M
