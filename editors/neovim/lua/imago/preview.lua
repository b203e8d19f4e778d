--- How a plan is drawn, as lines. No window and no daemon is in here. `choice` of a hunk is as `answer` takes it.
local window = require('imago.window')
local M = {}

local CHOICES = { accept = '✓ taken', refuse = '✗ refused', edit = '✎ edited' }

--- Adds lines with a margin, so that none of them can be taken for one of ours.
local function put(lines, text, mark)
  for _, line in ipairs(text == '' and {} or window.lines(text)) do
    table.insert(lines, '│ ' .. (mark or '') .. line)
  end
end

--- The lines of a view, and the line where each hunk begins; last, the one behind them all.
---@param view imago.View
function M.draw(view)
  local row, plan, lines, places = view.row, view.plan, {}, {}
  local function say(...) table.insert(lines, window.line(string.format(...))) end
  local function each(items, format)
    vim.tbl_map(function(item) say(format, item) end, items)
  end
  if view.news then say('● %s', view.news) end
  for _, file in ipairs(view.unsaved) do
    say('! %s has unsaved text in this editor: S saves it', file.shown)
  end
  each(row.warnings, '! %s')
  say('%s', row.title)
  say('  %s, asked by %s (%s, %d lines, times: %d)', row.tool, row.who, row.id, row.lines, row.times)
  each(row.notes, '  %s')
  -- The body of a plan with hunks is what is to be known of it, and then the hunks as one difference.
  put(lines, #plan.hunks > 0 and plan.body:match('^(.-)\n+diff %-%-git ') or plan.body)
  local taken = #vim.tbl_filter(function(hunk) return (hunk.choice or {}).decision ~= 'refuse' end, plan.hunks)
  if view.stage == 'confirm' then say('━ what will be applied: %d of %d, as one change', taken, #plan.hunks) end
  for at, hunk in ipairs(plan.hunks) do
    local choice, why = hunk.choice or {}, hunk.why and ': ' .. hunk.why or ''
    local decision = (CHOICES[choice.decision] or '· undecided') .. (choice.reason and ': ' .. choice.reason or '')
    say('━ hunk %d (%s:%d)%s  %s', hunk.number, hunk.shown, hunk.line, why, decision)
    places[at] = #lines
    if choice.text then
      put(lines, hunk.before, '-')
      put(lines, choice.text, '+')
    else
      put(lines, hunk.diff)
    end
  end
  places[#plan.hunks + 1] = #lines + 1
  return lines, places
end

return M
