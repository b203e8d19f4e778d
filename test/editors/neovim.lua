-- A Neovim with the plugin of this checkout, and the imago of this checkout.
vim.opt.runtimepath:prepend(vim.env.IMAGO_PLUGIN)
local settings = vim.json.decode(vim.env.IMAGO_SETTINGS or '{}')
settings.cmd = vim.json.decode(vim.env.IMAGO_LSP)
vim.g.imago = settings
vim.o.swapfile = false
-- Without the search for a Python with `pynvim`, which takes a second or two when a Python file is opened.
vim.g.loaded_python3_provider = 0
