--- Plans: signs for those that wait, one in a window with keys for its hunks, and its answer.
local client = require('imago.client')
local hunks = require('imago.hunks')
local window = require('imago.window')

local M = {}

---@type table<integer, imago.View> by buffer
local views = {}
---@type table<integer, table<string, table>> by project and id: the plans that wait, as they were told
local plans = {}
local began = false

local function space_of(project) return vim.api.nvim_create_namespace('imago-plans-' .. project.id) end

local function path_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return name ~= '' and (vim.loop.fs_realpath(name) or name)
end

--- The loaded buffer of a file.
local function buffer_of(path)
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and path_of(buf) == path then return buf end
  end
end

--- Signs in these buffers, at the first line of each change that waits.
local function sign(project, bufs)
  local lines = {}
  for _, plan in pairs(plans[project.id] or {}) do
    for _, file in ipairs(plan.files) do
      lines[file.path] = lines[file.path] or {}
      for _, hunk in ipairs(file.hunks) do
        table.insert(lines[file.path], hunk.line)
      end
    end
  end
  local space = space_of(project)
  for _, buf in ipairs(bufs) do
    vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
    local last = vim.api.nvim_buf_line_count(buf)
    for _, line in ipairs(vim.bo[buf].buftype == '' and lines[path_of(buf)] or {}) do
      local look = { sign_text = '?', sign_hl_group = 'ImagoSign', priority = 20 }
      vim.api.nvim_buf_set_extmark(buf, space, math.min(line, last) - 1, 0, look)
    end
  end
end

local function sign_all(project) sign(project, vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs())) end

--- Asks for the files of what waits, as far as this editor may know them.
local function fetch(project)
  local known = plans[project.id] or {}
  local waiting = {}
  for _, row in ipairs(project.seat and client.waiting(project) or {}) do
    local same = known[row.id]
    waiting[row.id] = same and same.hash == row.hash and same or { hash = row.hash, files = {} }
    if waiting[row.id] ~= same then
      client.ask(project, 'plan', { plan = row.id }, function(plan)
        waiting[row.id].files = plan.files
        sign_all(project)
      end, function() end)
    end
  end
  plans[project.id] = waiting
  sign_all(project)
end

local function draw(buf)
  local view = views[buf]
  view.unsaved = {}
  for _, file in ipairs(view.stage ~= 'over' and view.plan.files or {}) do
    local other = buffer_of(file.path)
    if other and vim.bo[other].modified then table.insert(view.unsaved, file.shown) end
  end
  local lines
  lines, view.places = hunks.draw(view)
  window.set(buf, lines)
end

local function show(buf)
  draw(buf)
  local view = views[buf]
  local win = vim.fn.bufwinid(buf)
  if win > 0 then vim.api.nvim_win_set_cursor(win, { view.stage == 'choose' and view.places[view.at] or 1, 0 }) end
end

local function over(buf, why)
  views[buf].stage = 'over'
  views[buf].news = why
  show(buf)
end

--- Rows of plans have changed: what is shown of them is said anew, and buffers whose files changed are read again.
local function heard(project, changes)
  local concerns, isDone = project.seat ~= nil and not plans[project.id], false
  for _, change in ipairs(changes) do
    local row = change.value or {}
    concerns = concerns or change.topic == 'approvals'
    isDone = isDone or row.ended ~= nil
    if row.ended and row.ended.undo then
      local undo = ' To take it back: :Imago undo ' .. row.ended.undo
      window.say(('%s: %s.%s'):format(row.title, row.ended.outcome, undo))
    end
  end
  if not project.seat and plans[project.id] then
    plans[project.id] = nil
    sign_all(project)
  end
  if concerns then fetch(project) end
  if isDone then
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' and not vim.bo[buf].modified then
        vim.bo[buf].autoread = true
        vim.cmd.checktime(buf)
      end
    end
  end
  for buf, view in pairs(views) do
    local row = (project.rows.approvals or {})[view.row.id]
    if view.project ~= project then row = view.row end
    if row == nil then
      over(buf, 'This plan is not known any more.')
    elseif row.ended then
      local undo = row.ended.undo and ', to take it back: :Imago undo ' .. row.ended.undo or ''
      over(buf, ('%s It ended: %s%s'):format(row.why, row.ended.outcome, undo))
    elseif row.state == 'ended' then
      over(buf, row.why)
    elseif row.hash ~= view.row.hash then
      over(buf, 'This plan has changed: open it again to see it as it is now.')
    end
  end
end

--- Listens once for what waits.
function M.begin()
  if began then return end
  began = true
  vim.api.nvim_set_hl(0, 'ImagoSign', { default = true, link = 'DiagnosticSignWarn' })
  client.on_change(heard)
  vim.api.nvim_create_autocmd('BufReadPost', {
    group = vim.api.nvim_create_augroup('imago-plans', {}),
    callback = function(event)
      for _, project in pairs(client.projects) do
        sign(project, { event.buf })
      end
    end,
  })
end

--- Answers the plan that is shown.
local function answer(buf, params)
  local view = views[buf]
  params.plan, params.hash = view.row.id, view.row.hash
  view.news = 'sent'
  client.ask(view.project, 'answer', params, function(became)
    if became.type ~= 'taken' and views[buf] == view and view.stage ~= 'over' then
      view.news = ('It was not taken (%s). %s'):format(became.type, became.why or '')
      show(buf)
    end
  end, function(fault)
    view.news = nil
    window.fault(fault)
  end)
end

local function next_undecided(view, from, by)
  local count = #view.pieces
  for step = 0, count - 1 do
    local at = (from - 1 + by * step) % count + 1
    if not view.pieces[at].decision then return at end
  end
end

--- Decides pieces, and goes to the next one that is undecided, or to the summary.
local function decide(buf, from, to, decision)
  local view = views[buf]
  for at = from, to do
    if at == view.at or not view.pieces[at].decision then view.pieces[at].decision = decision end
  end
  local following = next_undecided(view, view.at, 1)
  view.at = following or view.at
  view.stage = following and 'choose' or 'confirm'
  show(buf)
end

--- Asks for a reason, and goes on with it; nil for none. Escape goes on with nothing.
local function ask_reason(done)
  vim.ui.input({ prompt = 'Reason (empty: none): ' }, function(reason)
    if reason then done(vim.trim(reason) ~= '' and vim.trim(reason) or nil) end
  end)
end

--- Opens what a piece would put there, to be written otherwise; `:write` takes it.
local function edit(buf)
  local view = views[buf]
  local piece = view.pieces[view.at]
  local text = piece.decision and piece.decision.text or piece.after
  local draft = window.open(('edit/%s/%d'):format(view.row.id, view.at), '')
  vim.bo[draft].buftype = 'acwrite'
  vim.bo[draft].modifiable = true
  vim.api.nvim_buf_set_lines(draft, 0, -1, false, vim.split((text:gsub('\r?\n$', '')), '\r?\n'))
  vim.bo[draft].modified = false
  vim.bo[draft].filetype = vim.filetype.match({ filename = piece.hunk.shown }) or ''
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = draft,
    callback = function()
      local lines = vim.api.nvim_buf_get_lines(draft, 0, -1, false)
      local put = #lines == 1 and lines[1] == '' and '' or table.concat(lines, '\n') .. '\n'
      vim.bo[draft].modified = false
      if views[buf] ~= view or view.stage == 'over' then
        return window.say('that plan waits no more: nothing was answered')
      end
      vim.schedule(function() vim.api.nvim_buf_delete(draft, { force = true }) end)
      local isSame = put == piece.after or put == (piece.after:gsub('\r\n', '\n'))
      decide(buf, view.at, view.at, isSame and { type = 'take' } or { type = 'edit', text = put })
    end,
  })
end

local function save(buf)
  for _, file in ipairs(views[buf].plan.files) do
    local other = buffer_of(file.path)
    if other and vim.bo[other].modified then vim.api.nvim_buf_call(other, vim.cmd.write) end
  end
  draw(buf)
end

local function keys_of(buf)
  local function key(does)
    return function()
      local view = views[buf]
      if view and view.stage ~= 'over' and view.news ~= 'sent' then does(view, view.stage, #view.pieces > 0) end
    end
  end
  local function choose(does)
    return key(function(view, stage, has_hunks)
      if stage == 'choose' and has_hunks then does(view) end
    end)
  end
  local function move(by)
    return choose(function(view)
      view.at = next_undecided(view, view.at + by, by) or view.at
      show(buf)
    end)
  end
  window.keys(buf, {
    q = vim.cmd.close,
    S = key(function() save(buf) end),
    j = move(1),
    k = move(-1),
    y = key(function(view, stage, has_hunks)
      if stage == 'confirm' then
        answer(buf, { decision = 'choose', choices = hunks.choices(view.pieces) })
      elseif has_hunks then
        decide(buf, view.at, view.at, { type = 'take' })
      elseif vim.fn.line('w$') < vim.api.nvim_buf_line_count(buf) then
        vim.cmd('normal! G')
        window.say('this is its end; y approves it')
      else
        answer(buf, { decision = 'approve' })
      end
    end),
    n = key(function(view, stage, has_hunks)
      if stage == 'confirm' then
        view.stage = 'choose'
        view.pieces[view.at].decision = nil
        return show(buf)
      end
      ask_reason(function(reason)
        if views[buf] ~= view or view.stage ~= 'choose' then
          return
        elseif has_hunks then
          decide(buf, view.at, view.at, { type = 'refuse', reason = reason })
        else
          answer(buf, { decision = 'deny', reason = reason })
        end
      end)
    end),
    a = choose(function(view) decide(buf, 1, #view.pieces, { type = 'take' }) end),
    d = choose(function(view)
      ask_reason(function(reason)
        if views[buf] == view and view.stage == 'choose' then
          decide(buf, 1, #view.pieces, { type = 'refuse', reason = reason })
        end
      end)
    end),
    e = choose(function() edit(buf) end),
    s = choose(function(view)
      local parts = hunks.split(view.pieces[view.at])
      if #parts == 1 then return window.say('this hunk is one change; e edits it') end
      table.remove(view.pieces, view.at)
      for index, part in ipairs(parts) do
        table.insert(view.pieces, view.at + index - 1, part)
      end
      show(buf)
    end),
  })
end

--- Shows a plan that waits. The first one that is opened takes a seat.
---@param project imago.Project
---@param id string
function M.open(project, id)
  client.sit(project, function()
    client.ask(project, 'plan', { plan = id }, function(plan)
      local row = (project.rows.approvals or {})[id]
      if not plan.body or not row or row.state ~= 'waits' then
        return window.say(id .. ' waits no more' .. (row and row.why and ': ' .. row.why or ''))
      end
      local buf, isNew = window.open('plan/' .. id, 'imago-plan')
      if isNew then
        vim.b[buf].imago_project = project.id
        keys_of(buf)
        vim.api.nvim_create_autocmd('BufWipeout', {
          buffer = buf,
          callback = function() views[buf] = nil end,
        })
      end
      local pieces = hunks.pieces(plan.hunks)
      views[buf] =
        { project = project, row = row, plan = plan, pieces = pieces, at = 1, stage = 'choose', unsaved = {} }
      show(buf)
    end)
  end)
end

--- Shows what waits: the only plan, or the one that is chosen.
---@param project imago.Project
function M.list(project)
  client.ask(project, 'approvals', nil, function(found)
    if #found.approvals == 0 then
      return window.say('nothing waits')
    elseif #found.approvals == 1 then
      return M.open(project, found.approvals[1].id)
    end
    vim.ui.select(found.approvals, {
      prompt = 'What waits',
      format_item = function(row) return window.line(('%s, asked by %s'):format(row.title, row.who)) end,
    }, function(row)
      if row then M.open(project, row.id) end
    end)
  end)
end

--- Takes back the change of that name, or the last one: a plan too, which is shown.
---@param project imago.Project
---@param change? string
function M.undo(project, change)
  client.ask(project, 'approvals', nil, function(found)
    for _, row in ipairs(found.ends) do
      change = change or nil
      if row.ended and row.ended.undo then found.last = row.ended.undo end
    end
    change = change or found.last
    if not change then return window.say('no change is known that can be taken back; imago log has older ones') end
    local before = {}
    for _, row in ipairs(client.waiting(project)) do
      before[row.id] = true
    end
    client.call(project, 'undo_change', { change = change }, function(envelope) window.say(envelope.shown) end)
  end)
end

return M
