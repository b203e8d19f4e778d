--- :checkhealth imago
local M = {}
--- Neovim 0.9 has the longer names.
local function say(kind, ...) return (vim.health[kind] or vim.health['report_' .. kind])(...) end
function M.check()
  say('start', 'imago')
  local client, line = require('imago.client'), require('imago.window').line
  local cmd, found, fault = table.concat(client.config.cmd, ' '), nil, nil
  client.reach(vim.api.nvim_get_current_buf(), function(...) found = { ... } end, function(told) fault = told end)
  vim.wait(10000, function() return found or fault or not next(client.projects) end, 20)
  if not found then
    -- One that has ended says why to those who call it by hand.
    local words = fault and ((fault.data or {}).shown or fault.message)
    words = words or next(client.projects) and 'it says nothing' or vim.fn.system(client.config.cmd, '')
    local advice = 'in the folder of Imago: npm ci && npm link. Or vim.g.imago names it, see :help imago-settings'
    return say('error', ('%s does not answer: %s'):format(cmd, line(vim.trim(words))), advice)
  end
  local project, status = unpack(found)
  say('ok', ('found %s, version %s; its daemon is process %d'):format(cmd, status.version, status.pid))
  local names = table.concat(vim.fn.sort(vim.tbl_keys(project.rows.kernels)), ', ')
  say(names == '' and 'warn' or 'ok', 'programs of this project: ' .. (names == '' and 'none listens' or line(names)))
  say('info', project.seat and line(project.seat.shown) or 'no seat: the first plan that is opened takes one')
end
return M
