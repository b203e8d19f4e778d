--- :checkhealth imago
local M = {}

--- Neovim 0.9 has the longer names.
local function say(kind, ...) return (vim.health[kind] or vim.health['report_' .. kind])(...) end

function M.check()
  say('start', 'imago')
  local client, project, status = require('imago.client'), nil, nil
  local cmd = table.concat(client.config.cmd, ' ')
  client.attach(vim.api.nvim_get_current_buf(), function(found)
    project = found
    client.ask(project, 'status', {}, function(answer) status = answer end)
  end)
  if not vim.wait(10000, function() return status end, 20) then
    return say('error', cmd .. ' cannot be started, or does not answer; see its log', 'npm install --global imago')
  end
  say('ok', ('found %s, version %s; its daemon is process %d'):format(cmd, status.version, status.pid))
  local names = table.concat(vim.fn.sort(vim.tbl_keys(project.rows.kernels)), ', ')
  local programs = 'programs of this project: ' .. require('imago.window').line(names)
  say(names == '' and 'warn' or 'ok', names == '' and 'no program of this project listens' or programs)
  say('info', project.seat and 'seated as ' .. project.seat.who or 'no seat: the first plan that is opened takes one')
end

return M
