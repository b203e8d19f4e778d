--- Imago in Neovim: what runs, and what waits for an answer. See :help imago.
local M = {}

---@type { cmd: string[], sit: boolean } what starts the language server; whether a seat is taken at once
M.config = vim.tbl_extend('force', { cmd = { 'imago', 'lsp' }, sit = false }, vim.g.imago or {})

---@param config? { cmd?: string[], sit?: boolean }
function M.setup(config) M.config = vim.tbl_extend('force', M.config, config or {}) end

---@type table<string, fun(project: imago.Project, words: string, command: table)>
local COMMANDS = {
  plans = function(...) require('imago.plans').list(...) end,
  undo = function(project, words) require('imago.plans').undo(project, words ~= '' and words or nil) end,
  eval = function(project, _, command) require('imago.values').eval(project, command) end,
  result = function(...) require('imago.values').result(...) end,
  value = function(...) require('imago.values').value(...) end,
  errors = function(...) require('imago.looks').errors(...) end,
  threads = function(...) require('imago.looks').threads(...) end,
  debug = function(...) require('imago.looks').debug(...) end,
  programs = function(...) require('imago.looks').programs(...) end,
  leave = function(project) require('imago.client').ask(project, 'leave', {}) end,
  sit = function(project)
    local client, window = require('imago.client'), require('imago.window')
    if #client.asking(project) > 0 then return client.admit(project) end
    client.sit(project, function() window.say('seated as ' .. project.seat.who) end)
  end,
}

---@param command table as `nvim_create_user_command` gives it
function M.run(command)
  local name, words = command.args:match('^(%S+)%s*(.-)%s*$')
  if not COMMANDS[name] then return require('imago.window').say('there is no :Imago ' .. name) end
  local project = require('imago.client').attach(vim.api.nvim_get_current_buf())
  if project then COMMANDS[name](project, words, command) end
end

function M.complete(lead)
  local names = vim.tbl_filter(function(name) return vim.startswith(name, lead) end, vim.tbl_keys(COMMANDS))
  table.sort(names)
  return names
end

--- What waits, for a status line; an empty text where nothing does. It loads nothing.
function M.status()
  local client, parts = package.loaded['imago.client'], {}
  local function count(text, rows)
    if #rows > 0 then table.insert(parts, text:format(#rows)) end
  end
  for _, project in pairs(client and client.projects or {}) do
    count('plans wait: %d', client.waiting(project))
    count('seats wanted: %d', client.asking(project))
    count('suspended: %d', require('imago.looks').suspended(project))
  end
  return #parts > 0 and 'imago: ' .. table.concat(parts, ', ') or ''
end

return M
