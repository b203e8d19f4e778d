--- An evaluation that an error has suspended: its frames, and the ways to go on.
local client = require('imago.client')
local window = require('imago.window')
local M = {}

local KEYS = '<CR> frame  e evaluate there  r go on  s stack  q close'

local function open(project, row)
  local keys, restarts = {}, {}
  local function show(tool, args)
    local all = vim.tbl_extend('error', args, { suspension = row.id, kernel = row.kernel })
    client.call(project, tool, all, function(envelope)
      restarts = vim.tbl_get(envelope, 'result', 'restarts') or restarts
      window.report(project, 'debug', vim.list_extend({ KEYS, '' }, window.lines(envelope.shown)), keys)
    end)
  end
  local function frame() return tonumber(vim.api.nvim_get_current_line():match('^%s*(%d+): [^%[]')) or 0 end
  function keys.s() show('debug_state', {}) end
  keys['<CR>'] = function() show('debug_frame', { frame = frame() }) end
  function keys.e()
    local at = frame()
    vim.ui.input({ prompt = ('Evaluate in frame %d: '):format(at) }, function(expr)
      if expr then show('debug_eval', { frame = at, expr = expr }) end
    end)
  end
  function keys.r()
    local function name(restart) return restart.name .. ': ' .. restart.description end
    window.choose(restarts, 'ways to go on', name, function(restart)
      local function go(value) show('debug_restart', { restart = restart.number, value = value }) end
      if not restart.reads then return go() end
      vim.ui.input({ prompt = 'Value: ' }, function(value) return value and go(value) end)
    end)
  end
  keys.s()
end

--- Shows a suspended evaluation, with keys for its frames and for going on.
function M.debug(project)
  local function name(row) return ('%s, %s: %s'):format(row.id, row.kernel, row.message) end
  local function taken(row) open(project, row) end
  window.choose(client.waiting(project, 'suspensions'), 'suspended evaluations', name, taken)
end

return M
