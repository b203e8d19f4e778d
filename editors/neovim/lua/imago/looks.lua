--- What programs do, what failed in them, and what waits where it failed.
local client = require('imago.client')
local window = require('imago.window')
local M = {}

--- Puts the errors of the programs into the quickfix list, the newest first.
function M.errors(project)
  local rows = client.rows(project, 'errors')
  if #rows == 0 then return window.say('no program has noted an error') end
  table.sort(rows, function(one, other) return one.at > other.at end)
  local items = vim.tbl_map(function(row)
    local text = ('%s (%s, %s, times: %d)'):format(row.what, row.kernel, row.where or row.at, row.times)
    -- A name that a program chose opens no other machine.
    local file = row.file and not row.file:find('://', 1, true) and row.file or nil
    return { filename = file, lnum = row.line, type = 'E', text = window.line(text) }
  end, rows)
  vim.fn.setqflist({}, ' ', { title = 'Imago: errors of programs', items = items })
  vim.cmd('botright copen')
end

function M.threads(project)
  local args = { kernel = project.kernel }
  client.call(project, 'threads', args, function(envelope) window.report(project, 'threads', envelope.shown) end)
end

local function debug(project, row)
  local keys, restarts = {}, {}
  local function show(tool, args)
    local all = vim.tbl_extend('error', args, { suspension = row.id, kernel = row.kernel })
    client.call(project, tool, all, function(envelope)
      restarts = vim.tbl_get(envelope, 'result', 'restarts') or restarts
      local said = '<CR> frame  e evaluate there  r go on  t take it  s stack  q close'
      window.report(project, 'debug', said .. '\n\n' .. envelope.shown, keys)
    end)
  end
  local function frame() return tonumber(vim.api.nvim_get_current_line():match('^%s*(%d+): [^%[]')) end
  local function state() show('debug_state', {}) end
  keys.s = state
  keys['<CR>'] = function() show('debug_frame', { frame = frame() or 0 }) end
  keys.e = function()
    local at = frame() or 0
    vim.ui.input({ prompt = ('Evaluate in frame %d: '):format(at) }, function(expr)
      if expr then show('debug_eval', { frame = at, expr = expr }) end
    end)
  end
  keys.r = function()
    local function name(restart) return restart.name .. ': ' .. restart.description end
    window.choose(restarts, 'ways to go on', name, function(restart)
      local function go(value) show('debug_restart', { restart = restart.number, value = value }) end
      if not restart.reads then return go() end
      vim.ui.input({ prompt = 'Value: ' }, function(value) return value and go(value) end)
    end)
  end
  keys.t = function()
    local args = { kernel = row.kernel, suspension = row.id }
    client.sit(project, function() client.ask(project, 'take', args, state) end)
  end
  state()
end

--- Shows a suspended evaluation, with keys for its frames and for going on.
function M.debug(project)
  local function name(row) return ('%s, %s: %s'):format(row.id, row.kernel, row.message) end
  window.choose(client.waiting(project, 'suspensions'), 'suspended evaluations', name, function(row) debug(project, row) end)
end

--- Takes a seat; with one, asks the person who else gets one.
function M.sit(project)
  local asking = client.waiting(project, 'seats')
  if #asking == 0 then
    return client.sit(project, function() window.say('seated as ' .. project.seat.who) end)
  end
  local function name(row)
    local who = row.who:match('^through ') and 'Somebody wants a seat ' .. row.who or row.who .. ' wants a seat'
    return who .. (row.command == '' and '.' or ', started with ' .. row.command .. '.')
  end
  window.choose(asking, 'seats wanted', name, function(row)
    local through = row.through or {}
    local code = through.code and ' It shows the code ' .. through.code .. '.' or ''
    local driver = through.driver and ' It may be driven by ' .. through.driver .. '.' or ''
    local prompt = window.line(name(row) .. code .. driver .. ' Let it sit?')
    vim.ui.select({ 'no', 'yes' }, { prompt = prompt }, function(answer)
      if answer then client.ask(project, 'admit', { wanted = row.id, admit = answer == 'yes' }) end
    end)
  end)
end

function M.leave(project) client.ask(project, 'leave', {}) end

--- Lets the person choose the program that calls go to from now on.
function M.programs(project)
  local function name(row) return ('%s, %s, %s'):format(row.name, row.language, row.state) end
  window.choose(client.rows(project, 'kernels'), 'programs', name, function(row)
    project.kernel = row.name
    window.say('calls go to ' .. name(row))
  end)
end

return M
