--- Imago in Neovim: what runs, and what waits for an answer. See :help imago.
local M = {}

---@class imago.Config
---@field cmd string[] what starts the language server
---@field sit boolean whether a seat is taken at once, and not by the first plan that is opened
M.config = vim.tbl_extend('force', { cmd = { 'imago', 'lsp' }, sit = false }, vim.g.imago or {})

---@param config? imago.Config
function M.setup(config) M.config = vim.tbl_extend('force', M.config, config or {}) end

---@type table<string, fun(project: imago.Project, words: string[], command: table)>
local COMMANDS = {
  plans = function(project) require('imago.plans').list(project) end,
  undo = function(project, words) require('imago.plans').undo(project, words[1]) end,
  sit = function(project)
    require('imago.client').sit(project, function() require('imago.window').say('seated as ' .. project.seat.who) end)
  end,
  leave = function(project) require('imago.client').leave(project) end,
}

--- Does what a command says; `command` is as of `nvim_create_user_command`.
---@param command table
function M.run(command)
  local words = command.fargs
  local does = COMMANDS[words[1]]
  if not does then return require('imago.window').say('there is no :Imago ' .. words[1], vim.log.levels.WARN) end
  local project = require('imago.client').attach(vim.api.nvim_get_current_buf())
  if project then does(project, vim.list_slice(words, 2), command) end
end

---@param lead string
---@return string[]
function M.complete(lead)
  local names = vim.tbl_filter(function(name) return vim.startswith(name, lead) end, vim.tbl_keys(COMMANDS))
  table.sort(names)
  return names
end

--- What waits, for a status line; an empty text where nothing does, and as long as nothing is loaded.
---@return string
function M.status()
  local client = package.loaded['imago.client']
  local plans, stopped = 0, 0
  for _, project in pairs(client and client.projects or {}) do
    plans = plans + #client.waiting(project)
    stopped = stopped + #client.rows(project, 'suspensions', function(row) return row.news.type ~= 'ended' end)
  end
  local parts = {}
  if plans > 0 then table.insert(parts, plans == 1 and '1 plan waits' or plans .. ' plans wait') end
  if stopped > 0 then table.insert(parts, stopped .. ' suspended') end
  return #parts > 0 and 'imago: ' .. table.concat(parts, ', ') or ''
end

return M
