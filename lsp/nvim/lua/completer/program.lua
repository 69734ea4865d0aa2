--- Which program is run: the one named in setup(), else `completer` on the PATH, and never one of the project's.
--- A project that brings a `.venv/bin/completer`, or a PATH with relative folders in it, changes nothing.

local M = {}

local WINDOWS = vim.fn.has("win32") == 1

local function is_absolute(path)
  return path:match("^/") ~= nil or (WINDOWS and path:match("^%a:[/\\]") ~= nil)
end

local function is_inside(path, folder)
  return vim.startswith(vim.fs.normalize(path) .. "/", vim.fs.normalize(folder) .. "/")
end

--- The folders of the PATH that count: absolute ones, outside the folder that is worked in.
local function folders()
  local here = vim.fn.getcwd()
  local all = vim.split(vim.env.PATH or "", WINDOWS and ";" or ":", { plain = true, trimempty = true })
  return vim.tbl_filter(function(folder)
    return is_absolute(folder) and not is_inside(folder, here)
  end, all)
end

--- The program's path, or nil and what to do about it.
---@param given string the option `program`
---@return string? path
---@return string? problem
function M.find(given)
  if given ~= "" then
    local path = vim.fn.expand(given)
    if not is_absolute(path) then
      return nil, ("option program must be a whole path, not %s"):format(given)
    end
    if vim.fn.executable(path) == 0 then
      return nil, ("%s cannot be run; `completer setup neovim` prints the right path"):format(given)
    end
    return path
  end
  for _, folder in ipairs(folders()) do
    local path = vim.fs.joinpath(folder, WINDOWS and "completer.exe" or "completer")
    if vim.fn.executable(path) == 1 then
      return path
    end
  end
  return nil, "there is no program `completer` on the PATH; `completer setup neovim` prints lines that name it"
end

return M
