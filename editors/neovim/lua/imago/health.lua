--- :checkhealth imago
local M = {}

--- Neovim 0.9 has the longer names.
local function say(kind, ...) return (vim.health[kind] or vim.health['report_' .. kind])(...) end

function M.check()
  say('start', 'imago')
  local client, status = require('imago.client'), nil
  local cmd = client.config.cmd
  if vim.fn.executable(cmd[1]) == 0 then
    return say('error', 'there is no program ' .. cmd[1], 'npm install --global imago')
  end
  say('ok', 'found ' .. table.concat(cmd, ' '))
  local project = client.attach(vim.api.nvim_get_current_buf())
  if project then client.ask(project, 'status', {}, function(found) status = found end) end
  if not vim.wait(10000, function() return status end, 20) then
    return say('error', 'imago lsp does not answer; see its log')
  end
  say('ok', ('version %s; its daemon is process %d'):format(status.version, status.pid))
  local names = vim.tbl_map(function(row) return row.name end, client.rows(project, 'kernels'))
  local programs = 'programs of this project: ' .. require('imago.window').line(table.concat(names, ', '))
  say(#names > 0 and 'ok' or 'warn', #names > 0 and programs or 'no program of this project listens')
  say('info', project.seat and 'seated as ' .. project.seat.who or 'no seat: the first plan that is opened takes one')
end

return M
