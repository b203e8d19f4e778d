--- What a person decides of the hunks of one plan, and how it is drawn. No window and no daemon is in here.
local window = require('imago.window')

local M = {}

---@class imago.Decision
---@field type 'take'|'refuse'|'edit'
---@field reason? string
---@field text? string

---@class imago.Piece what is decided at once: a hunk, or a part of one that was split
---@field hunk table as the plan has it
---@field line integer
---@field before string
---@field after string
---@field from integer how many lines of the hunk are before it
---@field diff? string nil for a part: it is shown by its two texts
---@field decision? imago.Decision

local diff = vim.text and vim.text.diff or vim.diff
local SIGNS = { take = '✓ taken', refuse = '✗ refused', edit = '✎ edited' }

---@param hunks table[]
---@return imago.Piece[]
function M.pieces(hunks)
  return vim.tbl_map(function(hunk)
    local piece = { hunk = hunk, from = 0 }
    return vim.tbl_extend('error', piece, {
      line = hunk.line,
      before = hunk.before,
      after = hunk.after,
      diff = hunk.diff,
    })
  end, hunks)
end

--- Whole lines, each with its line end.
local function lines_of(text)
  local lines = {}
  for line in text:gmatch('[^\n]*\n?') do
    if line ~= '' then table.insert(lines, line) end
  end
  return lines
end

local function join(lines, from, count) return table.concat(vim.list_slice(lines, from, from + count - 1)) end

--- The separate changes of a piece; the piece alone where there is one.
---@param piece imago.Piece
---@return imago.Piece[]
function M.split(piece)
  local old, new = lines_of(piece.before), lines_of(piece.after)
  local changes = piece.diff and diff(piece.before, piece.after, { result_type = 'indices' }) or {}
  if #changes < 2 then return { piece } end
  return vim.tbl_map(function(change)
    local at, removed, put, added = unpack(change)
    -- Where nothing is removed, the line is the one above.
    local from = removed == 0 and at or at - 1
    return {
      hunk = piece.hunk,
      from = from,
      line = piece.line + from,
      before = join(old, at, removed),
      after = join(new, put, added),
    }
  end, changes)
end

--- The text that is to be there instead of the hunk, from the decisions of its parts.
local function text_of(hunk, parts)
  local old, text, at = lines_of(hunk.before), '', 0
  for _, part in ipairs(parts) do
    local decision = part.decision
    local put = decision.type == 'take' and part.after or decision.text or part.before
    text = text .. join(old, at + 1, part.from - at) .. put
    at = part.from + #lines_of(part.before)
  end
  return text .. join(old, at + 1, #old - at)
end

--- One choice for each hunk of the plan, as `answer` takes them. All pieces are decided.
---@param pieces imago.Piece[]
---@return table[]
function M.choices(pieces)
  local numbers, by_number = {}, {}
  for _, piece in ipairs(pieces) do
    local number = piece.hunk.number
    if not by_number[number] then
      by_number[number] = {}
      table.insert(numbers, number)
    end
    table.insert(by_number[number], piece)
  end
  return vim.tbl_map(function(number)
    local parts = by_number[number]
    local types, reasons = {}, {}
    for _, part in ipairs(parts) do
      types[part.decision.type] = true
      table.insert(reasons, part.decision.reason)
    end
    local reason = #reasons > 0 and table.concat(reasons, '; ') or nil
    if vim.tbl_count(types) == 1 and types.take then
      return { hunk = number, decision = 'accept' }
    elseif vim.tbl_count(types) == 1 and types.refuse then
      return { hunk = number, decision = 'refuse', reason = reason }
    end
    local text = text_of(parts[1].hunk, parts)
    local in_part = not types.edit or nil
    return { hunk = number, decision = 'edit', text = text, reason = reason, inPart = in_part }
  end, numbers)
end

--- The lines of a text with our margin, so that none of them can be taken for one of ours.
local function put(lines, text)
  for _, line in ipairs(window.lines(text)) do
    table.insert(lines, '│ ' .. line)
  end
end

local function put_piece(lines, piece)
  local edited = piece.decision and piece.decision.text
  if piece.diff and not edited then return put(lines, piece.diff) end
  for _, line in ipairs(lines_of(piece.before)) do
    put(lines, '-' .. line)
  end
  for _, line in ipairs(lines_of(edited or piece.after)) do
    put(lines, '+' .. line)
  end
end

local function name_of(piece)
  local why = piece.hunk.why and ': ' .. window.line(piece.hunk.why) or ''
  return ('%s:%d%s'):format(window.line(piece.hunk.shown), piece.line, why)
end

local function decision_of(piece)
  local decision = piece.decision
  if not decision then return '· undecided' end
  return SIGNS[decision.type] .. (decision.reason and ': ' .. window.line(decision.reason) or '')
end

--- What stands in a body outside of its diffs: what is to be known of it, and what it was computed from.
local function outside(body)
  local lines, old, new, within = {}, 0, 0, false
  for _, line in ipairs(window.lines(body)) do
    local from, to = line:match('^@@ %-%d+,?(%d*) %+%d+,?(%d*) @@')
    local mark = line:sub(1, 1)
    if old > 0 or new > 0 then
      old = old - ((mark == ' ' or mark == '-') and 1 or 0)
      new = new - ((mark == ' ' or mark == '+') and 1 or 0)
    elseif within and from then
      old, new = tonumber(from) or 1, tonumber(to) or 1
    elseif line:match('^diff %-%-git ') then
      within = true
    elseif line == '' or (within and line:match('^[%-+\\]')) or line:match('^new file mode ') then
      within = within and line ~= ''
    else
      within = false
      table.insert(lines, line)
    end
  end
  return table.concat(lines, '\n')
end

---@class imago.View what is shown of a plan
---@field row table
---@field plan table
---@field pieces imago.Piece[]
---@field at integer the piece that keys are about
---@field stage 'choose'|'confirm'|'over'
---@field news? string
---@field unsaved string[]

local KEYS = {
  whole = 'y approve  n refuse  q leave it waiting',
  choose = 'y take  n refuse  e edit  s split  a take the rest  d refuse the rest  j k next, previous  q leave it waiting',
  confirm = 'y send this  n go back  q leave it waiting',
  over = 'q close',
}

--- The lines of a view, and the line of each piece.
---@param view imago.View
---@return string[] lines
---@return integer[] places
function M.draw(view)
  local row, lines, places = view.row, {}, {}
  local function say(...) table.insert(lines, window.line(string.format(...))) end
  if view.news then say('● %s', view.news) end
  for _, shown in ipairs(view.unsaved) do
    say('! %s has unsaved text in this editor: S saves it', shown)
  end
  for _, warning in ipairs(row.warnings) do
    say('! %s', warning)
  end
  say('%s', row.title)
  local times = row.times > 1 and (', for the %dth time'):format(row.times) or ''
  say('  %s, asked by %s%s (%s)', row.tool, row.who, times, row.id)
  for _, note in ipairs(row.notes) do
    say('  %s', note)
  end
  local is_whole = #view.pieces == 0
  local count = 0
  if view.stage == 'confirm' then
    for _, piece in ipairs(view.pieces) do
      count = count + (piece.decision.type == 'refuse' and 0 or 1)
    end
    say('━ what will be applied: %d of %d, as one change', count, #view.pieces)
  else
    table.insert(lines, '')
    put(lines, is_whole and (view.plan.body or '') or outside(view.plan.body or ''))
  end
  for number, piece in ipairs(view.pieces) do
    table.insert(lines, '')
    say('━ hunk %d of %d · %s  %s', number, #view.pieces, name_of(piece), decision_of(piece))
    places[number] = #lines
    if view.stage ~= 'confirm' or piece.decision.text then put_piece(lines, piece) end
  end
  table.insert(lines, '')
  if view.stage ~= 'over' and view.plan.code ~= '' then say('  code for a script: %s', view.plan.code) end
  say('  %s', KEYS[view.stage == 'choose' and is_whole and 'whole' or view.stage])
  return lines, places
end

return M
