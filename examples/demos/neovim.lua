-- All that Neovim 0.11 needs for Imago: its own client for language servers. Put into init.lua, or: nvim -u neovim.lua
vim.lsp.inlay_hint.enable() -- the hint at a line names its error
vim.diagnostic.config({ virtual_text = { severity = { max = vim.diagnostic.severity.WARN } } })

local undo -- the name by which the last change can be taken back

local function rows(_, event)
  for _, change in ipairs(event.snapshot or event.changes) do
    local plan = change.value or {}
    if plan.state == 'waits' then
      vim.notify(plan.id .. ' waits: ' .. plan.title)
    elseif plan.ended then
      undo = plan.ended.undo or undo
      vim.notify(plan.id .. ': ' .. plan.ended.outcome)
      vim.cmd.checktime() -- the file may have another text now
    end
  end
end

-- Draws a plan before its question is asked.
local function question(...)
  vim.cmd.redraw()
  return vim.lsp.handlers['window/showMessageRequest'](...)
end

vim.api.nvim_create_autocmd('FileType', {
  pattern = { 'python', 'lisp' },
  callback = function()
    vim.lsp.start({
      name = 'imago',
      cmd = vim.json.decode(vim.env.IMAGO_LSP or '["imago", "lsp"]'),
      root_dir = vim.fn.getcwd(),
      handlers = { ['imago/rows'] = rows, ['window/showMessageRequest'] = question },
    })
  end,
})

local function ask(name, params)
  vim.lsp.get_clients({ name = 'imago' })[1]:request('imago/' .. name, params, function(error, result)
    local failed = error or result and result.error
    local said = failed and failed.message or result and result.who
    if said then
      vim.notify(said)
    end
  end)
end

-- From now on plans are answered here. Each program that drives this Neovim can answer them, too.
vim.api.nvim_create_user_command('ImagoSit', function()
  ask('subscribe', { topics = { 'approvals' } })
  ask('sit', vim.empty_dict())
end, {})

vim.api.nvim_create_user_command('ImagoUndo', function()
  ask('call', { tool = 'undo_change', args = { change = undo } })
end, {})
