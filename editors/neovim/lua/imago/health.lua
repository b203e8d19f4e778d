--- :checkhealth imago
local M = {}

--- Neovim 0.9 has the longer names.
local function say(kind, ...) return (vim.health[kind] or vim.health['report_' .. kind])(...) end

local INSTALL = 'in the folder of Imago: npm ci && npm link. Or `cmd` of vim.g.imago names it: :help imago-settings'

function M.check()
  say('start', 'imago')
  local client, line = require('imago.client'), require('imago.window').line
  local cmd, project, status, words = table.concat(client.config.cmd, ' '), nil, nil, nil
  local function found(...)
    project, status = ...
  end
  local function failed(fault) words = (fault.data or {}).shown or fault.message end
  client.reach(vim.api.nvim_get_current_buf(), found, failed)
  vim.wait(10000, function() return status or words or not next(client.projects) end, 20)
  if not status then
    -- One that has ended says why to those who call it by hand.
    words = words or next(client.projects) and 'it says nothing' or vim.fn.system(client.config.cmd, '')
    return say('error', ('%s does not answer: %s'):format(cmd, line(vim.trim(words))), INSTALL)
  end
  say('ok', ('found %s, version %s; its daemon is process %d'):format(cmd, status.version, status.pid))
  local names = table.concat(vim.fn.sort(vim.tbl_keys(project.rows.kernels)), ', ')
  local programs = 'programs of this project: ' .. line(names)
  say(names == '' and 'warn' or 'ok', names == '' and 'no program of this project listens' or programs)
  say('info', project.seat and line(project.seat.shown) or 'no seat: the first plan that is opened takes one')
end

return M
