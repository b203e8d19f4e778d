--- Evaluation, with its result where the code is, and values that open field by field.
local client = require('imago.client')
local window = require('imago.window')
local M = {}

local SPACE = vim.api.nvim_create_namespace('imago-results')
-- A line that begins something at the top level, and does not follow its decorator.
local TOP = [[\v%(^\@.*\n)@<!^%(else>|elif>|except>|finally>|[)\]}#;])@!\S]]
local last ---@type table? the envelope of the last evaluation
local count = 0 -- of evaluations: Neovim would use the number of a mark again

--- The first and the last line of what is at the cursor, by its indentation.
local function form()
  local from, following = vim.fn.search(TOP, 'bcnW'), vim.fn.search(TOP, 'nW')
  local last_line = following == 0 and vim.fn.line('$') or following - 1
  return math.max(from, 1), math.max(vim.fn.prevnonblank(last_line), from, 1)
end

--- Evaluates the lines of a command's range, or the form at the cursor.
function M.eval(project, _, command)
  local buf, from, to = vim.api.nvim_get_current_buf(), command.line1, command.line2
  if command.range == 0 then
    from, to = form()
  end
  local lines = vim.api.nvim_buf_get_lines(buf, from - 1, to, false)
  -- A part of a block has a margin.
  local code = ('\n' .. table.concat(lines, '\n')):gsub('\n' .. lines[1]:match('^%s*'), '\n'):sub(2)
  local args = { expr = code, kernel = project.kernel }
  if vim.bo.buftype == '' and vim.fn.bufname() ~= '' then
    args.file, args.line = vim.api.nvim_buf_get_name(buf), from
  end
  if vim.tbl_contains({ 'python', 'lisp' }, vim.bo.filetype) then args.on_error = 'suspend' end
  vim.api.nvim_buf_clear_namespace(buf, SPACE, from - 1, to)
  local mark, runs = count + 1, { { ' …', 'Comment' } }
  count = vim.api.nvim_buf_set_extmark(buf, SPACE, to - 1, 0, { id = mark, virt_text = runs })
  local function clear() vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1) end
  vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertEnter' }, { buffer = buf, once = true, callback = clear })
  client.call(project, 'eval_expr', args, function(envelope)
    last = envelope
    local at = vim.api.nvim_buf_is_valid(buf) and vim.api.nvim_buf_get_extmark_by_id(buf, SPACE, mark, {})[1]
    if not at then return end
    local result, fault = envelope.result or {}, envelope.error
    local value = result.value_repr or (result.output ~= '' and result.output) or envelope.shown
    local text = fault and '✗ ' .. fault.message or '⇒ ' .. value
    local shown =
      { vim.fn.strcharpart(' ' .. window.line(text), 0, 200), fault and 'DiagnosticError' or 'DiagnosticInfo' }
    vim.api.nvim_buf_set_extmark(buf, SPACE, at, 0, { id = mark, virt_text = { shown } })
  end)
end

--- Shows all that the last evaluation said.
function M.result(project)
  if not last then return window.say('nothing was evaluated yet') end
  window.report(project, 'result', last.shown)
end

--- What is in a value: name and expression of each.
local function children(envelope)
  local found, rows, seen = envelope.result or {}, {}, {}
  local exprs, sample = found.exprs or {}, found.sample or { items = {} }
  local function add(name, expr)
    table.insert(rows, { name = window.line(name), expr = type(expr) == 'string' and expr or nil })
  end
  vim.tbl_map(function(at) add(sample.items[at], (sample.exprs or {})[at]) end, vim.fn.range(1, #sample.items))
  for _, field in ipairs(found.fields and found.fields.rows or {}) do
    seen[field.name] = add(field.name .. ' = ' .. field.value, exprs[field.name]) or true
  end
  for _, name in ipairs(found.members and found.members.data or {}) do
    if not seen[name] then add(name, exprs[name]) end
  end
  if #rows == 0 then vim.tbl_map(add, window.lines(envelope.shown)) end
  return rows
end

--- Shows a value as a tree, where Enter opens and closes a field. That runs no code.
function M.value(project, expr)
  local here = vim.fn.line('.') - 1
  local is_result = #vim.api.nvim_buf_get_extmarks(0, SPACE, { here, 0 }, { here, 0 }, {}) > 0
  if expr == '' then expr = is_result and vim.tbl_get(last or {}, 'result', 'handle') or vim.fn.expand('<cexpr>') end
  if expr == '' then return window.say('there is no expression here; :Imago value EXPR') end
  local kernel, file = project.kernel, vim.bo.buftype == '' and vim.api.nvim_buf_get_name(0) or nil
  local root, shown, buf = { name = window.line(expr), expr = expr }, {}, nil
  local function draw()
    local lines = {}
    shown = {}
    local function add(node, margin)
      table.insert(shown, node)
      table.insert(lines, margin .. (node.open and '▾ ' or node.expr and '▸ ' or '  ') .. node.name)
      vim.tbl_map(function(child) add(child, margin .. '  ') end, node.open or {})
    end
    add(root, '')
    window.set(buf, lines)
  end
  local function toggle()
    local node = shown[vim.fn.line('.')] or root
    if not node.expr then return end
    if node.open then
      node.open = nil
      return draw()
    end
    local args = { expr = node.expr, kernel = kernel, file = file ~= '' and not expr:match('^@') and file or nil }
    client.call(project, 'inspect', args, function(envelope)
      node.open = children(envelope)
      if vim.api.nvim_buf_is_valid(buf) then draw() end
    end)
  end
  buf = window.open(project, 'value', { ['<CR>'] = toggle })
  draw()
  toggle()
end

return M
