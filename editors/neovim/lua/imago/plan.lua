--- A plan in a window, with keys for its hunks, and its answer.
local client = require('imago.client')
local window = require('imago.window')
local M = {}
-- `places` are the lines of its hunks, and the one behind them; `stage` is whole, choose, confirm or over.
---@alias imago.View { id: string, plan: table, stage: string, news?: string, unsaved: table[], places: integer[] }
local view ---@type imago.View?
local begun = {} ---@type table<string, table> plans with what was decided of them, by their ids
local KEYS = {
  whole = 'y approve  n refuse  q leave it waiting',
  choose = 'y take  n refuse  e edit  a take the rest  d refuse the rest  q later',
  confirm = 'y send this  n decide the hunk at the cursor again  q later',
}
local CHOICES = { accept = '✓ taken', refuse = '✗ refused', edit = '✎ edited' }
local function choice_of(hunk) return hunk.choice end
--- Those of its files that have unsaved text.
local function unsaved()
  local function is_modified(file) return vim.fn.getbufvar(window.buffer_of(file.path) or -1, '&modified') == 1 end
  return vim.tbl_filter(is_modified, view.plan.files)
end

--- The lines of the view.
local function draw()
  local plan, lines = view.plan, {}
  local function say(...) table.insert(lines, window.line(string.format(...))) end
  -- With a margin, so that no line can be taken for one of ours.
  local function put(text, mark)
    for _, line in ipairs(text == '' and {} or window.lines(text)) do
      table.insert(lines, '│ ' .. mark .. line)
    end
  end
  if view.news then say('● %s', view.news) end
  for _, file in ipairs(view.unsaved) do
    say('! %s has unsaved text in this editor: S saves it, and the plan is then out of date', file.shown)
  end
  vim.list_extend(lines, window.lines(table.concat(plan.heading, '\n')))
  local taken = #vim.tbl_filter(function(hunk) return (hunk.choice or {}).decision ~= 'refuse' end, plan.hunks)
  if view.stage == 'confirm' then say('━ what will be applied: %d of %d, as one change', taken, #plan.hunks) end
  view.places = {}
  for at, hunk in ipairs(plan.hunks) do
    local choice = hunk.choice or {}
    local decision = (CHOICES[choice.decision] or '· undecided') .. (view.stage == 'over' and ' here' or '')
    say('━ %s  %s%s', hunk.head, decision, choice.reason and ': ' .. choice.reason or '')
    view.places[at] = #lines
    put(choice.text and hunk.before or hunk.diff, choice.text and '-' or '')
    put(choice.text or '', '+')
  end
  table.insert(view.places, #lines + 1)
  return lines
end

--- Draws it from its first line, or with hunk `at` whole on the screen, or as much of it as fits.
local function show(news, at)
  view.news, view.unsaved = news, view.stage == 'over' and {} or unsaved()
  local lines = draw()
  window.set(view.buf, lines)
  vim.api.nvim_win_call(vim.fn.win_findbuf(view.buf)[1], function()
    vim.opt_local.winbar = (KEYS[view.stage] or 'q close') .. '%<'
    vim.fn.winrestview({ topline = 1, lnum = 1, col = 0 })
    if vim.fn.line('w$') < #lines then vim.cmd.resize(math.max(vim.fn.winheight(0), math.floor(vim.o.lines * 0.75))) end
    local is_whole = not at or vim.fn.line('w$') >= view.places[at + 1] - 1
    if not is_whole and view.stage == 'confirm' then return end -- what is sent is read from its beginning
    vim.fn.cursor(at and view.places[at] or 1, 1)
    if not is_whole then vim.cmd('normal! zt') end
  end)
end

--- Says in the window why its plan needs no answer any more, once it does not.
function M.changed(project)
  for id, row in pairs(project.rows.approvals) do
    if not row.waits then begun[id] = nil end
  end
  if not view or view.project ~= project then return end
  local row = project.rows.approvals[view.id] or { shown = 'This plan is not known any more.' }
  local why = row.shown:gsub(': imago undo', ': :Imago undo')
  if row.waits or why == view.news then return end
  view.stage = 'over'
  show(why)
end

--- Answers it, by its hash. The rows tell that it was taken.
local function answer(params)
  local now = unsaved()
  if params.decision ~= 'deny' and #now > 0 and not vim.deep_equal(now, view.unsaved) then
    return show('Nothing was sent: text came meanwhile that is not saved. y sends the answer all the same.')
  end
  params.plan, params.hash = view.id, view.plan.hash
  client.ask(view.project, 'answer', params, function(became)
    if became.shown then window.say(became.shown) end
  end)
end

--- The hunk at the cursor.
local function here()
  local hunks = vim.tbl_filter(function(place) return place <= vim.fn.line('.') end, view.places)
  return math.min(math.max(#hunks, 1), #view.plan.hunks)
end

--- Decides that hunk, or with `rest` all that are undecided instead, and goes on to the next of those.
local function decide(at, choice, rest)
  local hunks, undecided = view.plan.hunks, nil
  local function is_undecided(hunk) return not hunk.choice end
  for _, hunk in ipairs(rest and vim.tbl_filter(is_undecided, hunks) or { hunks[at] }) do
    hunk.choice = vim.tbl_extend('error', { hunk = hunk.number }, choice)
  end
  for step = #hunks - 1, 1, -1 do
    local following = (at - 1 + step) % #hunks + 1
    if not hunks[following].choice then undecided = following end
  end
  view.stage, view.last = undecided and 'choose' or 'confirm', at
  show(nil, undecided or at)
end

--- A key that asks for a reason. Escape goes on with nothing, and so does a plan that has gone meanwhile.
local function refuse(does)
  return function()
    local mine, stage, at = view, view.stage, here()
    vim.ui.input({ prompt = 'Reason (empty: none): ' }, function(reason)
      if not reason or view ~= mine or view.stage ~= stage then return end
      does(at, { decision = 'refuse', reason = vim.trim(reason) ~= '' and vim.trim(reason) or nil })
    end)
  end
end

--- Opens what a hunk would put there, to be written otherwise; `:write` takes that.
local function edit()
  local mine, at, hunk = view, here(), view.plan.hunks[here()]
  local draft = window.open(view.project, ('edit/%s/%d'):format(view.id, hunk.number))
  window.set(draft, vim.split((hunk.after:gsub('\r\n', '\n'):gsub('\n$', '')), '\n'))
  vim.bo[draft].buftype, vim.bo[draft].modifiable = 'acwrite', true
  local function take()
    local text = table.concat(vim.api.nvim_buf_get_lines(draft, 0, -1, false), '\n')
    vim.api.nvim_buf_delete(draft, { force = true })
    -- Keys that were typed since were meant for the plan, and do not answer it.
    vim.cmd.stopinsert()
    if view ~= mine or view.stage == 'over' then return window.say('that plan waits no more') end
    -- A file whose last line has no end keeps it so.
    local ending = (hunk.after ~= '' and hunk.after or hunk.before):match('\n?$')
    decide(at, { decision = 'edit', text = text == '' and '' or text .. ending })
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = draft, callback = vim.schedule_wrap(take) })
end

local function save()
  for _, file in ipairs(unsaved()) do
    vim.api.nvim_buf_call(window.buffer_of(file.path), function() vim.cmd.write() end)
  end
  show(view.news)
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
    y = function() return is_seen(vim.fn.line('$')) and answer({ decision = 'approve' }) end,
    n = refuse(function(_, choice) answer({ decision = 'deny', reason = choice.reason }) end),
  },
  choose = {
    e = edit,
    y = function() return is_seen(view.places[here() + 1] - 1) and decide(here(), { decision = 'accept' }) end,
    a = function() return is_seen(vim.fn.line('$')) and decide(here(), { decision = 'accept' }, true) end,
    n = refuse(decide),
    d = refuse(function(at, choice) decide(at, choice, true) end),
  },
  confirm = {
    y = function() answer({ decision = 'choose', choices = vim.tbl_map(choice_of, view.plan.hunks) }) end,
    n = function()
      local at = vim.fn.line('.') < view.places[1] and view.last or here()
      view.plan.hunks[at].choice, view.stage = nil, 'choose'
      show(nil, at)
    end,
  },
}

local keys = { S = function() return DOES[view.stage] and save() end }
for key in ('eyand'):gmatch('.') do
  keys[key] = function() return vim.tbl_get(DOES, view.stage, key) and DOES[view.stage][key]() end
end
-- Where the person is, after the mode.
local function place() return vim.fn.mode() .. vim.inspect({ vim.fn.win_getid(), vim.fn.getcurpos() }) end
--- Shows a plan that waits. The first one that is opened takes a seat.
function M.open(project, id)
  local asked_at = place()
  local function found(plan)
    local row = project.rows.approvals[id]
    if not row or not row.waits then return window.say(id .. ' waits no more') end
    -- By now the person may be typing into something else.
    if place() ~= asked_at or vim.fn.mode() ~= 'n' then return window.say(id .. ' waits: :Imago plans shows it') end
    local buf = window.open(project, 'plan', keys)
    if (begun[id] or {}).hash == plan.hash then plan.hunks = begun[id].hunks end
    begun[id] = plan
    view = { project = project, buf = buf, id = id, plan = plan, stage = #plan.hunks == 0 and 'whole' or 'choose' }
    vim.api.nvim_create_autocmd('BufWipeout', { buffer = buf, callback = function() view = nil end })
    local is_decided = #plan.hunks > 0 and #vim.tbl_filter(choice_of, plan.hunks) == #plan.hunks
    view.stage = is_decided and 'confirm' or view.stage
    show()
    -- Keys that were typed before it was there do not answer it.
    while vim.fn.getchar(0) ~= 0 do end
  end
  client.ask(project, 'sit', {}, function() client.ask(project, 'plan', { plan = id, shown = true }, found) end)
end
return M
