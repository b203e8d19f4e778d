-- A command and mappings alone: the first of them, or a file of a language that Imago knows, loads the rest.
if vim.g.loaded_imago then return end
vim.g.loaded_imago = true
if vim.fn.has('nvim-0.9') == 0 then
  return vim.cmd([[command! -nargs=* -range Imago echo 'imago: this plugin needs Neovim 0.9 or newer']])
end

vim.api.nvim_create_user_command('Imago', function(command) require('imago').run(command) end, {
  nargs = '+',
  range = true,
  desc = 'Imago: what runs, and what waits for an answer',
  complete = function(...) return require('imago').complete(...) end,
})
for _, name in ipairs({ 'plans', 'eval', 'result', 'value', 'errors', 'threads', 'debug', 'undo', 'programs' }) do
  vim.keymap.set('n', '<Plug>(imago-' .. name .. ')', '<Cmd>Imago ' .. name .. '<CR>')
end
vim.keymap.set('x', '<Plug>(imago-eval)', ':Imago eval<CR>', { silent = true })
vim.api.nvim_create_autocmd('FileType', {
  group = vim.api.nvim_create_augroup('imago', {}),
  pattern = vim.g.imago_filetypes or { 'python', 'lisp' },
  callback = function(event) require('imago.client').attach(event.buf, true) end,
})
