--- What programs do, what failed in them, and an evaluation that an error has suspended.
local client = require('imago.client')
local window = require('imago.window')
local M = {}
--- Puts the errors of the programs into the quickfix list, the newest first.
function M.errors(project)
  local rows = vim.tbl_values(project.rows.errors)
  if #rows == 0 then return window.say('no program has noted an error') end
  table.sort(rows, function(one, other) return one.at > other.at end)
  local items = vim.tbl_map(function(row)
    -- A name that a program chose opens no other machine.
    local file = row.file and not row.file:find('://', 1, true) and row.file or nil
    return { filename = file, lnum = row.line, type = 'E', text = window.line(row.shown) }
  end, rows)
  vim.fn.setqflist({}, ' ', { title = 'Imago: errors of programs', items = items })
  vim.cmd('botright copen')
end

function M.threads(project) client.show(project, 'threads', vim.empty_dict()) end
local function open(project, row)
  local keys, restarts = {}, {}
  local function show(tool, args)
    local all = vim.tbl_extend('error', args, { suspension = row.id, kernel = row.kernel })
    client.call(project, tool, all, function(envelope)
      restarts = vim.tbl_get(envelope, 'result', 'restarts') or restarts
      local lines = { '<CR> frame  e evaluate there  r go on  s stack  q close', '' }
      window.report(project, 'debug', vim.list_extend(lines, window.lines(envelope.shown)), keys)
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
    local function label(restart) return ('%d %s'):format(restart.number, restart.name) end
    local prompt = 'Go on by (' .. table.concat(vim.tbl_map(label, restarts), ', ') .. '): '
    vim.ui.input({ prompt = window.line(prompt) }, function(number)
      local restart = number and restarts[(tonumber(number) or -1) + 1]
      if not restart then return number and window.say('there is no way to go on ' .. number) end
      local function go(value) show('debug_restart', { restart = restart.number, value = value }) end
      if not restart.reads then return go() end
      vim.ui.input({ prompt = 'Value: ' }, function(value) return value and go(value) end)
    end)
  end
  keys.s()
end

--- Shows a suspended evaluation, with keys for its frames and for going on.
function M.debug(project)
  local suspended = client.waiting(project, 'suspensions')
  window.choose(suspended, 'suspended evaluations', function(row) open(project, row) end)
end
return M
