--- Other plugins that draw suggestions at the cursor. Two at once are a mess: said once, and by :checkhealth.

local M = {}

local LOADED = {
  ["copilot.vim"] = function()
    return vim.g.loaded_copilot == 1
  end,
  ["copilot.lua"] = function()
    return package.loaded["copilot.suggestion"] ~= nil
  end,
  ["codeium"] = function()
    return vim.g.loaded_codeium == 1 or package.loaded["codeium.virtual_text"] ~= nil
  end,
  ["supermaven-nvim"] = function()
    return package.loaded["supermaven-nvim"] ~= nil
  end,
  ["minuet-ai.nvim"] = function()
    return package.loaded["minuet.virtualtext"] ~= nil
  end,
  ["tabby"] = function()
    return vim.g.loaded_tabby == 1
  end,
  ["llama.vim"] = function()
    return vim.g.loaded_llama == 1
  end,
}

---@return string[] names of those that are loaded
function M.found()
  local found = {}
  for name, is_loaded in pairs(LOADED) do
    if is_loaded() then
      found[#found + 1] = name
    end
  end
  return vim.fn.sort(found)
end

--- Say it when typing begins, when all plugins have been loaded.
function M.watch()
  vim.api.nvim_create_autocmd("InsertEnter", {
    group = vim.api.nvim_create_augroup("completer.rivals", {}),
    once = true,
    callback = function()
      local found = M.found()
      if #found > 0 then
        local words = "completer: %s suggests at the cursor, too; switch one of them off"
        vim.notify_once(words:format(table.concat(found, ", ")), vim.log.levels.WARN)
      end
    end,
  })
end

return M
