--- Plans: marks where they wait, one in a window with keys for its hunks, and its answer.
local client = require('imago.client')
local hunks = require('imago.hunks')
local window = require('imago.window')
local M = {}

local views = {} ---@type table<integer, imago.View> by buffer

-- What waits is a diagnostic, so that all which a person has set for those holds.
local SPACE = vim.api.nvim_create_namespace('imago-plans')
local WARN = vim.diagnostic.severity.WARN
vim.diagnostic.config({ underline = false, signs = { text = { [WARN] = '?' }, priority = 20 } }, SPACE)

--- The buffer of a file, where there is one.
local function buffer_of(path) return vim.fn.bufexists(path) == 1 and vim.fn.bufadd(path) or nil end

--- Marks the first line of each change that waits and that this editor may know.
local function mark()
  local marks = {}
  local function add(row, file)
    local buf, text = buffer_of(file.path), window.line(row.title) .. ' waits: :Imago plans'
    for _, hunk in ipairs(buf and file.hunks or {}) do
      marks[buf] = marks[buf] or {}
      table.insert(marks[buf], { lnum = math.max(hunk.line, 1) - 1, col = 0, severity = WARN, message = text })
    end
  end
  for _, project in pairs(client.projects) do
    for _, row in ipairs(project.seat and client.waiting(project, 'approvals') or {}) do
      vim.tbl_map(function(file) add(row, file) end, row.files or {})
    end
  end
  vim.diagnostic.reset(SPACE)
  for buf, here in pairs(marks) do
    vim.diagnostic.set(SPACE, buf, here)
  end
end

vim.api.nvim_create_autocmd('BufReadPost', {
  group = vim.api.nvim_create_augroup('imago-plans', {}),
  callback = mark,
})

--- Asks for the files of what waits, and keeps them with its row.
local function fetch(project)
  for _, row in ipairs(project.seat and client.waiting(project, 'approvals') or {}) do
    local function found(plan)
      row.files = plan.files
      mark()
    end
    if not row.files then client.ask(project, 'plan', { plan = row.id }, found, function() end) end
  end
  mark()
end

--- Those of a plan's files that have unsaved text.
local function unsaved(plan)
  return vim.tbl_filter(function(file)
    local buf = buffer_of(file.path)
    return buf and vim.bo[buf].modified
  end, plan.files)
end

--- Draws a view, with the hunk that keys are about whole on the screen, or as much of it as fits.
local function show(buf, news)
  local view, win = views[buf], vim.fn.bufwinid(buf)
  view.news, view.unsaved = news, view.stage == 'over' and {} or unsaved(view.plan)
  local lines, places = hunks.draw(view)
  view.places = places
  window.set(buf, lines)
  local at, last = 1, #lines
  if view.stage == 'choose' then
    at, last = places[view.at], places[view.at + 1] - 1
  end
  if win < 0 then return end
  vim.api.nvim_win_call(win, function()
    vim.opt_local.winbar = (hunks.KEYS[view.stage] or 'q close') .. '%<'
    vim.fn.cursor(1, 1)
    if vim.fn.line('w$') < #lines then vim.cmd.resize(math.max(vim.fn.winheight(0), math.floor(vim.o.lines * 0.75))) end
    local is_whole = vim.fn.line('w$') >= last
    vim.fn.cursor(at, 1)
    if not is_whole then vim.cmd('normal! zt') end
  end)
end

--- Why a plan that is shown needs no answer any more; nil while it does.
local function ending(view)
  local row = (view.project.rows.approvals or {})[view.row.id]
  if not row then return 'This plan is not known any more.' end
  if row.state == 'waits' then return row.hash ~= view.row.hash and 'This plan has changed: open it again.' or nil end
  local undo = row.ended and row.ended.undo and '. To take it back: :Imago undo ' .. row.ended.undo or ''
  return row.why .. (row.ended and ' It ended: ' .. row.ended.outcome .. undo or '')
end

client.changed = function(project, changes)
  local plans = vim.tbl_filter(function(change) return change.topic == 'approvals' end, changes)
  -- None at all: a seat was taken or left.
  if #changes > 0 and #plans == 0 then return end
  fetch(project)
  for buf, view in pairs(views) do
    local why = view.project == project and ending(view)
    if why and why ~= view.news then
      view.stage = 'over'
      show(buf, why)
    end
  end
  local has_ended = #vim.tbl_filter(function(change) return change.value and change.value.ended end, plans) > 0
  for _, buf in ipairs(has_ended and vim.api.nvim_list_bufs() or {}) do
    if not vim.bo[buf].modified then pcall(vim.cmd.checktime, buf) end
  end
end

--- Answers the plan that is shown, by its hash.
local function answer(buf, params)
  local view, stage, now = views[buf], views[buf].stage, unsaved(views[buf].plan)
  if params.decision ~= 'deny' and #now > 0 and not vim.deep_equal(now, view.unsaved) then
    return show(buf, 'Nothing was sent: text came meanwhile that is not saved. y sends the answer all the same.')
  end
  local function back(why)
    view.stage = view.stage == 'sent' and stage or view.stage
    if views[buf] == view then show(buf, 'It was not taken: ' .. why) end
  end
  params.plan, params.hash, view.stage = view.row.id, view.row.hash, 'sent'
  show(buf, 'The answer was sent.')
  client.ask(view.project, 'answer', params, function(became)
    if became.type ~= 'taken' then back(became.why or became.type) end
  end, function(fault) back(fault.message) end)
end

--- Goes to the nearest hunk that is undecided; with none left, to the summary.
local function move(buf, from, by)
  local view, count = views[buf], #views[buf].plan.hunks
  view.stage = 'confirm'
  for step = count - 1, 0, -1 do
    local at = (from - 1 + by * step) % count + 1
    if not view.plan.hunks[at].choice then
      view.at, view.stage = at, 'choose'
    end
  end
  show(buf)
end

--- Decides the hunk that keys are about, or with `rest` all that are undecided.
local function decide(buf, choice, rest)
  local view = views[buf]
  for at, hunk in ipairs(view.plan.hunks) do
    if at == view.at or (rest and not hunk.choice) then
      hunk.choice = vim.tbl_extend('error', { hunk = hunk.number }, choice)
    end
  end
  move(buf, view.at, 1)
end

--- A key that asks for a reason. Escape goes on with nothing, and so does a plan that has gone meanwhile.
local function refuse(does)
  return function(buf, view)
    local stage = view.stage
    vim.ui.input({ prompt = 'Reason (empty: none): ' }, function(reason)
      if not reason or views[buf] ~= view or view.stage ~= stage then return end
      does(buf, { decision = 'refuse', reason = vim.trim(reason) ~= '' and vim.trim(reason) or nil })
    end)
  end
end

--- Opens what a hunk would put there, to be written otherwise; `:write` takes it.
local function edit(buf, view)
  local at, hunk = view.at, view.plan.hunks[view.at]
  local draft = window.open(view.project, ('edit/%s/%d'):format(view.row.id, hunk.number))
  window.set(draft, vim.split((hunk.after:gsub('\r\n', '\n'):gsub('\n$', '')), '\n'))
  vim.bo[draft].buftype, vim.bo[draft].modifiable = 'acwrite', true
  vim.bo[draft].filetype = vim.filetype.match({ filename = hunk.shown }) or ''
  local function write()
    local text = table.concat(vim.api.nvim_buf_get_lines(draft, 0, -1, false), '\n')
    vim.bo[draft].modified = false
    vim.schedule(function()
      pcall(vim.api.nvim_buf_delete, draft, { force = true })
      -- Keys that were typed since were meant for the plan, and do not answer it.
      vim.cmd.stopinsert()
      if views[buf] ~= view or not hunks.KEYS[view.stage] then return window.say('that plan waits no more') end
      view.at = at
      -- A file whose last line has no end keeps it so.
      local ending = (hunk.after ~= '' and hunk.after or hunk.before):match('\n?$')
      decide(buf, { decision = 'edit', text = text == '' and '' or text .. ending })
    end)
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = draft, callback = write })
end

local function save(buf, view)
  for _, file in ipairs(unsaved(view.plan)) do
    vim.api.nvim_buf_call(buffer_of(file.path), function() vim.cmd.write() end)
  end
  show(buf, view.news)
end

--- Whether what a key decides was on the screen to its last line; where it was not, the key reads on.
local function is_seen(last)
  if math.max(vim.fn.line('w$'), vim.fn.line('.')) >= last then return true end
  vim.cmd('normal! \6')
  window.say('it goes on: the same key again')
end

--- What each key does in each stage.
local DOES = {
  whole = {
    y = function(buf) return is_seen(vim.fn.line('$')) and answer(buf, { decision = 'approve' }) end,
    n = refuse(function(buf, choice) answer(buf, { decision = 'deny', reason = choice.reason }) end),
  },
  choose = {
    e = edit,
    j = function(buf, view) move(buf, view.at + 1, 1) end,
    k = function(buf, view) move(buf, view.at - 1, -1) end,
    y = function(buf, view) return is_seen(view.places[view.at + 1] - 1) and decide(buf, { decision = 'accept' }) end,
    a = function(buf) return is_seen(vim.fn.line('$')) and decide(buf, { decision = 'accept' }, true) end,
    n = refuse(decide),
    d = refuse(function(buf, choice) decide(buf, choice, true) end),
  },
  confirm = {
    y = function(buf, view)
      local choices = vim.tbl_map(function(hunk) return hunk.choice end, view.plan.hunks)
      answer(buf, { decision = 'choose', choices = choices })
    end,
    n = function(buf, view)
      view.plan.hunks[view.at].choice = nil
      move(buf, view.at, 1)
    end,
  },
}

local keys = {}
for key in ('Sejkyand'):gmatch('.') do
  keys[key] = function()
    local buf = vim.api.nvim_get_current_buf()
    local stage = views[buf] and DOES[views[buf].stage]
    local does = stage and (key == 'S' and save or stage[key])
    if does then return does(buf, views[buf]) end
    local does_here = stage and hunks.KEYS[views[buf].stage]
    if does_here then window.say(key .. ' does nothing here: ' .. does_here) end
  end
end

--- How long a seat may take to come for the plan that it was asked for to open by itself.
local LATE_MS = 1000

--- Shows a plan that waits. The first one that is opened takes a seat.
function M.open(project, id)
  local function found(plan)
    local row = (project.rows.approvals or {})[id]
    if not plan.body or not row or row.state ~= 'waits' then return window.say(id .. ' waits no more') end
    local buf = window.open(project, 'plan', keys)
    local stage = #plan.hunks == 0 and 'whole' or 'choose'
    views[buf] = { project = project, row = row, plan = plan, at = 1, stage = stage, unsaved = {} }
    vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, callback = function() views[buf] = nil end })
    show(buf)
    if vim.fn.line('w0') > 1 then vim.fn.cursor(1, 1) end -- What is above the hunks comes first.
    -- Keys that were typed before it was there do not answer it.
    while vim.fn.getchar(0) ~= 0 do
    end
  end
  local asked = vim.loop.now()
  client.sit(project, function()
    -- By then the person may be typing into something else.
    if vim.loop.now() - asked > LATE_MS then return window.say('this Neovim sits now; :Imago plans shows what waits') end
    client.ask(project, 'plan', { plan = id }, found)
  end)
end

--- Shows the only plan that waits, or the one that is chosen.
function M.plans(project)
  client.ask(project, 'approvals', {}, function(found)
    local function name(row) return row.title .. ', asked by ' .. row.who end
    window.choose(found.approvals, 'plans that wait', name, function(row) M.open(project, row.id) end)
  end)
end

--- Takes back the change of that name, or a recent one that is chosen: a plan too.
function M.undo(project, change)
  local function undo(name)
    client.call(project, 'undo_change', { change = name }, function(envelope) window.say(envelope.shown) end)
  end
  if change ~= '' then return undo(change) end
  client.ask(project, 'approvals', {}, function(found)
    local known = vim.tbl_filter(function(row) return row.ended and row.ended.undo end, found.ends)
    local function name(row) return row.title end
    local function taken(row) undo(row.ended.undo) end
    window.choose(vim.fn.reverse(known), 'changes that can be taken back', name, taken)
  end)
end

return M
