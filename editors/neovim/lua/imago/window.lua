--- Windows with a text of ours, and how a person is told something. A text from elsewhere is never more than text.
local M = {}
-- Code points that a reader would not see, or that would move the rest.
local UNSEEN = '0-8 b-1f 7f-a0 ad-ad 34f-34f 600-605 61c-61c 6dd-6dd 70f-70f 890-891 8e2-8e2 115f-1160 1680-1680 '
  .. '17b4-17b5 180b-180f 2000-200f 2028-202f 205f-206f 2800-2800 3000-3000 3164-3164 d800-f8ff fe00-fe0f feff-feff '
  .. 'ffa0-ffa0 fff0-fffc 110bd-110bd 110cd-110cd 13430-13442 16fe4-16fe4 1bca0-1bca3 1d159-1d159 1d173-1d17a e0000-10ffff'
-- By character, what is shown in its place; false where it is shown itself.
local MARKS = setmetatable({}, {
  __index = function(known, char)
    local code = #char == 1 and char:byte() or vim.fn.char2nr(char, true)
    known[char] = false
    for first, last in UNSEEN:gmatch('(%x+)-(%x+)') do
      if code >= tonumber(first, 16) and code <= tonumber(last, 16) then known[char] = ('⟦U+%04X⟧'):format(code) end
    end
    return known[char]
  end,
})

---@return string[] lines with marks for all that a reader would not see: ⟦U+202E⟧
function M.lines(text)
  text = tostring(text):gsub('\r\n', '\n'):gsub('\n$', '')
  return vim.split(text:gsub('[%z\1-\8\11-\31\127-\255][\128-\191]*', MARKS), '\n', { plain = true })
end

function M.line(text) return table.concat(M.lines(text), ' ') end
--- Says something in one line of the screen, which no key has to take away; `:messages` has all of it.
function M.say(text)
  local shortened = vim.o.shortmess
  vim.opt.shortmess:append('T')
  vim.cmd.echomsg(vim.fn.string('imago: ' .. M.line(text)))
  vim.o.shortmess = shortened
end

--- Says what went wrong, and what can be done about it.
function M.fault(fault) M.say((fault.data or {}).shown or fault.message) end
--- The buffer of a file, where there is one.
function M.buffer_of(path) return vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or nil end
--- A buffer of ours in a window, which is gone to. Where there is none of that name, it is made.
---@param keys? table<string, fun()> and `q`, which closes it; none at all where it is left out
function M.open(project, name, keys)
  local buf = vim.fn.bufnr('^imago://' .. name .. '$')
  if buf < 0 then
    buf = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buf, 'imago://' .. name)
    vim.bo[buf].bufhidden, vim.bo[buf].filetype = 'wipe', 'imago'
    vim.b[buf].imago_project = project.id
  end
  for key, does in pairs(keys and vim.tbl_extend('keep', keys, { q = vim.cmd.close }) or {}) do
    vim.keymap.set('n', key, does, { buffer = buf, nowait = true, silent = true })
  end
  local win = vim.fn.bufwinid(buf)
  if win < 0 then
    vim.cmd('botright split')
    win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, buf)
    vim.wo.foldenable, vim.wo.spell = false, false
  end
  vim.api.nvim_set_current_win(win)
  return buf
end

function M.set(buf, lines)
  vim.bo[buf].modifiable = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
end

--- Shows lines to read, where `gF` goes to the place that one names.
function M.report(project, name, lines, keys)
  M.set(M.open(project, name, keys or {}), lines)
  vim.fn.cursor(1, 1)
end

--- Lets a person choose one of several, each by its row or its `name`; that there is none of `what`, a plural, is said.
function M.choose(items, what, done, name)
  if #items == 0 then return M.say('there are no ' .. what) end
  if #items == 1 then return done(items[1]) end
  local function line(item) return M.line(name and name(item) or item.shown) end
  local how = { prompt = 'Of the ' .. what .. ':', format_item = line }
  vim.ui.select(items, how, function(item) return item and done(item) end)
end
return M
