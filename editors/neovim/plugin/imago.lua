-- A command alone: its first use, or a file of a language that Imago knows, loads the rest.
if vim.fn.has('nvim-0.9') == 0 then
  return vim.cmd([[command! -nargs=* -range Imago echo 'imago: this plugin needs Neovim 0.9 or newer']])
end

vim.api.nvim_create_user_command('Imago', function(command) require('imago').run(command) end, {
  nargs = '*',
  range = true,
  complete = function(lead) return require('imago').complete(lead) end,
})
vim.api.nvim_create_autocmd('FileType', {
  group = vim.api.nvim_create_augroup('imago', {}),
  pattern = (vim.g.imago or {}).filetypes or { 'python', 'lisp' },
  callback = function(event) require('imago.client').attach(event.buf) end,
})
