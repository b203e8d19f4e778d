--- Imago in Neovim: what runs, and what waits for an answer. See :help imago.
local M = {}
-- Which file has the function of that name, and which of them take words.
local COMMANDS = { plans = 'plans', undo = 'plans', sit = 'plans', leave = 'plans', eval = 'values', result = 'values' }
COMMANDS.value, COMMANDS.errors, COMMANDS.threads, COMMANDS.debug = 'values', 'programs', 'programs', 'programs'
COMMANDS.interrupt = 'values'
local TAKE_WORDS = { undo = true, eval = true, value = true }
---@param command table as `nvim_create_user_command` gives it
function M.run(command)
  local name, words = command.args:match('^(%S*)%s*(.-)%s*$')
  local say, names = require('imago.window').say, table.concat(M.complete(''), ', ')
  if name == '' then return say(M.status():gsub('^imago: ', ''):gsub('^$', 'nothing waits') .. '. :Imago ' .. names) end
  if not COMMANDS[name] then return say(('there is no :Imago %s, but: %s'):format(name, names)) end
  if words ~= '' and not TAKE_WORDS[name] then return say(':Imago ' .. name .. ' takes no words; nothing was done') end
  require('imago.client').reach(vim.api.nvim_get_current_buf(), function(project)
    require('imago.' .. COMMANDS[name])[name](project, words, command)
  end)
end

function M.complete(lead)
  return vim.fn.sort(vim.tbl_filter(function(name) return vim.startswith(name, lead) end, vim.tbl_keys(COMMANDS)))
end

--- What waits, for a status line; an empty text where nothing does. It loads nothing.
function M.status()
  local client, parts = package.loaded['imago.client'], {}
  for _, project in pairs(client and client.projects or {}) do
    if project.waits ~= '' then table.insert(parts, project.waits) end
    if not project.seat and next(project.rows.seats) then table.insert(parts, 'no seat') end
  end
  return #parts > 0 and 'imago: ' .. table.concat(parts, ', ') or ''
end
return M
