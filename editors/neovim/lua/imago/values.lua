--- Evaluation, with its result where the code is, and values to walk through.
local client = require('imago.client')
local window = require('imago.window')
local M = {}
local SPACE = vim.api.nvim_create_namespace('imago-results')
local RUNS = vim.api.nvim_create_namespace('imago-runs')
-- A line that begins something at the top level, and does not follow its decorator.
local TOP = [[\v%(^\@.*\n)@<!^%(else>|elif>|except>|finally>|[)\]}#;])@!\S]]
local last, count = nil, 0 -- the last envelope; how many there were, as Neovim would use the number of a mark again
--- The first and the last line of a command's range; without one, of what is at the cursor, by its indentation.
local function range_of(command)
  if command.range > 0 then return command.line1, command.line2 end
  local from, following = vim.fn.search(TOP, 'bcnW'), vim.fn.search(TOP, 'nW')
  local last_line = following == 0 and vim.fn.line('$') or following - 1
  return math.max(from, 1), math.max(vim.fn.prevnonblank(last_line), from, 1)
end

--- The place of a line of this buffer, as a tool takes it; empty where the buffer has no file.
local function place(line)
  local name = vim.api.nvim_buf_get_name(0)
  return vim.bo.buftype == '' and name ~= '' and { file = name, line = line } or {}
end

--- Evaluates an expression, or the lines of a command's range, or the form at the cursor. Lines that run are lit.
function M.eval(project, expr, command)
  local buf, from, to = vim.api.nvim_get_current_buf(), range_of(command)
  if expr ~= '' then from, to = vim.fn.line('.'), vim.fn.line('.') end
  local code = expr ~= '' and expr or table.concat(vim.api.nvim_buf_get_lines(buf, from - 1, to, false), '\n')
  local args = vim.tbl_extend('error', place(from), { expr = code })
  if vim.tbl_contains({ 'python', 'lisp' }, vim.bo.filetype) then args.on_error = 'suspend' end
  vim.api.nvim_buf_clear_namespace(buf, SPACE, from - 1, to)
  count = count + 1
  local mark = count
  local function show(line, text, group)
    local virt_text = { { window.line((' %s %s'):format(expr, text):gsub('^ +', ' ')), group } }
    vim.api.nvim_buf_set_extmark(buf, SPACE, line, 0, { id = mark, virt_text = virt_text })
  end
  show(to - 1, '…', 'Comment')
  local lit = { end_row = to, hl_group = 'Visual', hl_eol = true, strict = false }
  lit = expr == '' and vim.api.nvim_buf_set_extmark(buf, RUNS, from - 1, 0, lit)
  local function clear() vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1) end
  vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertEnter', 'BufRead' }, { buffer = buf, once = true, callback = clear })
  client.call(project, 'eval_expr', args, function(envelope)
    last = envelope
    if not vim.api.nvim_buf_is_valid(buf) then return end
    if lit then vim.api.nvim_buf_del_extmark(buf, RUNS, lit) end
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, SPACE, mark, {})[1]
    if not at then return end
    local where = code:match('^%s') and ' (run at the top level)' or ''
    show(at, envelope.line .. where, envelope.error and 'DiagnosticError' or 'DiagnosticInfo')
  end, vim.bo.filetype)
end

--- Shows all that the last evaluation said.
function M.result(project)
  if not last then return window.say('nothing was evaluated yet') end
  window.report(project, 'result', window.lines(last.shown))
end

--- Stops the newest evaluation that runs.
function M.interrupt(project)
  client.call(project, 'interrupt_job', vim.empty_dict(), function(envelope) window.say(envelope.shown) end)
end

--- Shows a value and, below it, its parts: Enter goes on to one of them, and - goes back. That runs no code.
local function look(project, args, back)
  client.call(project, 'inspect', args, function(envelope)
    local lines, keys = window.lines(envelope.shown), {}
    local first = #lines
    for _, part in ipairs(envelope.parts) do
      table.insert(lines, (part.expr and '▸ ' or '  ') .. window.line(part.label))
    end
    local function show() window.report(project, 'value', lines, keys) end
    keys['-'] = back or show
    keys['<CR>'] = function()
      local part = envelope.parts[vim.fn.line('.') - first] or {}
      local into = { expr = part.expr, kernel = envelope.kernel, file = args.file, line = args.line }
      if part.expr then look(project, into, show) end
    end
    show()
  end, vim.bo.filetype)
end

--- Looks at an expression, at the result at the cursor, or at the expression there; in the frame of an error there.
function M.value(project, expr)
  local here = vim.fn.line('.')
  local results = vim.api.nvim_buf_get_extmarks(0, SPACE, { here - 1, 0 }, { here - 1, 0 }, {})
  local is_first = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1):match('^%s*$')
  local is_bare = expr == '' and #results == 0 and is_first
  for _, error in ipairs(is_bare and vim.diagnostic.get(0, { lnum = here - 1 }) or {}) do
    local kernel = (error.source or ''):match('^imago, (.+)$')
    local args = { kernel = kernel, number = tonumber((tostring(error.code):match('^#(%d+)$'))) }
    if kernel and args.number then return client.show(project, 'get_last_error', args) end
  end
  if expr == '' then expr = #results > 0 and vim.tbl_get(last or {}, 'result', 'handle') or vim.fn.expand('<cexpr>') end
  if expr == '' then return window.say('there is no expression here; :Imago value EXPR') end
  look(project, vim.tbl_extend('error', expr:match('^@') and {} or place(here), { expr = expr }))
end
return M
