-- A Neovim with the plugin of this checkout, and the imago of this checkout.
vim.opt.runtimepath:prepend(vim.env.IMAGO_PLUGIN)
vim.g.imago = { cmd = vim.json.decode(vim.env.IMAGO_LSP) }
vim.o.swapfile = false
