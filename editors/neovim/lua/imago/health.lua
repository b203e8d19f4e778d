--- :checkhealth imago
local M = {}

function M.check()
  local health = vim.health or require('health')
  -- Neovim 0.9 has the longer names.
  local function say(kind, ...) return (health[kind] or health['report_' .. kind])(...) end
  say('start', 'imago')
  if vim.fn.has('nvim-0.9') == 0 then return say('error', 'this plugin needs Neovim 0.9 or newer') end
  local client, window = require('imago.client'), require('imago.window')
  local cmd = require('imago').config.cmd
  if vim.fn.executable(cmd[1]) == 0 then
    return say(
      'error',
      ('there is no program %s'):format(cmd[1]),
      { 'npm install --global imago', "setup { cmd = { '/path/to/imago', 'lsp' } }" }
    )
  end
  say('ok', 'found ' .. table.concat(cmd, ' '))
  local project, status = client.attach(vim.api.nvim_get_current_buf()), nil
  if project then
    client.ask(
      project,
      'status',
      {},
      function(found) status = found end,
      function(fault) say('error', fault.message) end
    )
  end
  if not vim.wait(10000, function() return status end, 20) then
    return say('error', 'imago lsp does not answer; see :LspLog')
  end
  say('ok', ('version %s; its daemon, process %d, has %d programs'):format(status.version, status.pid, status.kernels))
  local found = client.rows(project, 'kernels', function(row) return row.state ~= 'ended' end)
  for _, row in ipairs(found) do
    say('ok', window.line(('program %s, %s: %s'):format(row.name, row.implementation or row.language, row.state)))
  end
  if #found == 0 then
    say('warn', 'no program of this project listens', { 'imago run COMMAND, or imago.listen() in it' })
  end
  say(
    'info',
    project.seat and 'seated as ' .. window.line(project.seat.who) or 'no seat: the first plan that is opened takes one'
  )
end

return M
