--- Windows that show a text, and how it is asked and told what a person has to know.
local M = {}

-- What a reader would not see, or what would move the rest: controls, marks of direction, characters without width.
local UNSEEN = {
  '[%z\1-\8\11-\31\127]',
  '\194[\128-\159\173]',
  '\216\156',
  '\225\160\142',
  '\226\128[\139-\143\168-\174]',
  '\226\129[\160-\175]',
  '\239\187\191',
  '\239\191[\185-\187]',
  '\243\160[\128-\135][\128-\191]',
}

--- A text with marks for all that a reader would not see: `⟦U+202E⟧`.
---@param text any
---@return string
function M.marked(text)
  text = tostring(text):gsub('\r\n', '\n')
  for _, pattern in ipairs(UNSEEN) do
    text = text:gsub(pattern, function(found) return ('⟦U+%04X⟧'):format(vim.fn.char2nr(found, true)) end)
  end
  return text
end

---@param text any
---@return string
function M.line(text) return (M.marked(text):gsub('%s*\n%s*', ' ')) end

---@param text string
---@return string[]
function M.lines(text) return vim.split((M.marked(text):gsub('\n$', '')), '\n', { plain = true }) end

---@param text any
---@param level? integer
function M.say(text, level) vim.notify('imago: ' .. M.line(text), level or vim.log.levels.INFO) end

--- What went wrong, and what can be done about it.
---@param fault table
function M.fault(fault)
  local following = type(fault.data) == 'table' and fault.data.next or fault.next
  M.say(fault.message .. (type(following) == 'string' and ' ' .. following or ''), vim.log.levels.WARN)
end

--- The buffer of that name in a window, made where there is none. Its text is set by `M.set`.
---@param name string
---@param filetype string
---@return integer buf
---@return boolean isNew
function M.open(name, filetype)
  local uri = 'imago://' .. name
  local buf = vim.fn.bufnr('^' .. vim.fn.escape(uri, '*?[]{}\\,') .. '$')
  local is_new = buf < 0
  if is_new then
    buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buf, uri)
    vim.bo[buf].bufhidden = 'wipe'
    vim.bo[buf].modifiable = false
    vim.bo[buf].filetype = filetype
  end
  local win = vim.fn.bufwinid(buf)
  if win > 0 then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd('botright split')
    vim.api.nvim_win_set_buf(0, buf)
    vim.wo.foldenable = false
    vim.wo.spell = false
  end
  return buf, is_new
end

--- Replaces the text of a buffer of ours.
---@param buf integer
---@param lines string[]
function M.set(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Keys of a buffer of ours alone.
---@param buf integer
---@param keys table<string, fun()>
function M.keys(buf, keys)
  for key, does in pairs(keys) do
    vim.keymap.set('n', key, does, { buffer = buf, nowait = true, silent = true })
  end
end

--- A report to read: Enter goes to the place in a file that its line names, `q` closes it.
---@param name string
---@param text string
---@return integer buf
function M.report(name, text)
  local buf, is_new = M.open(name, 'imago')
  M.set(buf, M.lines(text))
  if is_new then M.keys(buf, { q = vim.cmd.close, ['<CR>'] = M.jump }) end
  return buf
end

--- Goes to the place that the line under the cursor names, in the window before this one.
function M.jump()
  local line = vim.api.nvim_get_current_line()
  local file, number = line:match('File "([^"]+)", line (%d+)')
  if not file then
    file, number = line:match('([^%s"\'(),]+):(%d+)')
  end
  if not file or vim.fn.filereadable(file) == 0 then return M.say('this line names no file that is here') end
  vim.cmd('wincmd p')
  vim.cmd.edit(vim.fn.fnameescape(file))
  local last = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(tonumber(number), last)), 0 })
end

return M
