--- Imago in Neovim: what runs, and what waits for an answer. See :help imago.
local M = {}

-- Which file has the function of that name.
local COMMANDS = { plans = 'plans', undo = 'plans', eval = 'values', result = 'values', value = 'values' }
COMMANDS.errors, COMMANDS.threads, COMMANDS.debug = 'programs', 'programs', 'suspension'
COMMANDS.sit, COMMANDS.leave = 'seat', 'seat'

---@param command table as `nvim_create_user_command` gives it
function M.run(command)
  local name, words = command.args:match('^(%S+)%s*(.-)%s*$')
  if not COMMANDS[name] then return require('imago.window').say('there is no :Imago ' .. name) end
  require('imago.client').attach(vim.api.nvim_get_current_buf(), function(project)
    require('imago.' .. COMMANDS[name])[name](project, words, command)
  end)
end

function M.complete(lead)
  local names = vim.fn.sort(vim.tbl_keys(COMMANDS))
  return vim.tbl_filter(function(name) return vim.startswith(name, lead) end, names)
end

--- What waits, for a status line; an empty text where nothing does. It loads nothing.
function M.status()
  local client, parts = package.loaded['imago.client'], {}
  for _, project in pairs(client and client.projects or {}) do
    for topic, text in pairs({ approvals = 'plans wait', seats = 'seats wanted', suspensions = 'suspended' }) do
      local count = #client.waiting(project, topic)
      if count > 0 then table.insert(parts, ('%s: %d'):format(text, count)) end
    end
    local function is_seat(row) return row.seat end
    if not project.seat and #vim.tbl_filter(is_seat, vim.tbl_values(project.rows.seats)) > 0 then
      table.insert(parts, 'no seat')
    end
  end
  table.sort(parts)
  return #parts > 0 and 'imago: ' .. table.concat(parts, ', ') or ''
end

return M
