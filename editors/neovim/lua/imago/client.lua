--- The connection to `imago lsp`, one for each project. The rows that it tells are all the state that there is.
local window = require('imago.window')
local M = {}

-- `id` is that of its client; `queue` waits until that is ready; `rows` are by topic and key.
-- `kernel` is the program that the person has chosen for calls; else the daemon decides.
---@alias imago.Project { id: integer, queue?: fun()[], rows: table, seat?: table, kernel?: string }

M.projects = {} ---@type table<integer, imago.Project>
M.changed = function() end ---@type fun(project: imago.Project, changes: table[])

local DEFAULTS = { cmd = { 'imago', 'lsp' }, sit = true, inline = true }
M.config = vim.tbl_extend('force', DEFAULTS, vim.g.imago or {}) ---@type table see :help imago-settings

local MARKS = { 'imago.toml', '.git', 'pyproject.toml', 'setup.py', 'package.json', '.venv' }
local TOPICS = { 'approvals', 'errors', 'kernels', 'seats', 'suspensions' }

local function tell(project, changes)
  M.changed(project, changes)
  vim.cmd.redrawstatus({ bang = true })
end

--- An empty table would be a list.
local function object(fields) return next(fields) and fields or vim.empty_dict() end

--- Asks for an operation of the daemon. A fault is said, unless `failed` takes it.
---@param project imago.Project
---@param done? fun(result: any)
---@param failed? fun(fault: table)
function M.ask(project, name, params, done, failed)
  if project.queue then
    return table.insert(project.queue, function() M.ask(project, name, params, done, failed) end)
  end
  local client = vim.lsp.get_client_by_id(project.id)
  if not client then return window.say('imago lsp has ended; the next command starts it again') end
  client.rpc.request('imago/' .. name, object(params), function(fault, result)
    if fault then return (failed or window.fault)(fault) end
    if done then done(result) end
  end)
end

--- Runs a tool. `done` is given its envelope, with the text for a person as `shown`.
---@param done fun(envelope: table)
function M.call(project, tool, args, done)
  M.ask(project, 'call', { tool = tool, args = object(args), shown = true, follow = true }, done)
end

--- Rows of a topic, in the order of their keys.
---@param is_meant? fun(row: table): boolean which of them; all where it is left out
function M.rows(project, topic, is_meant)
  local rows, found = project.rows[topic] or {}, {}
  local keys = vim.tbl_keys(rows)
  table.sort(keys)
  for _, key in ipairs(keys) do
    if not is_meant or is_meant(rows[key]) then table.insert(found, rows[key]) end
  end
  return found
end

-- Which rows of a topic wait for a person.
local WAITS = {
  approvals = function(row) return row.state == 'waits' end,
  seats = function(row) return row.id and not row.why end,
  suspensions = function(row) return row.news.type ~= 'ended' end,
}
function M.waiting(project, topic) return M.rows(project, topic, WAITS[topic]) end

--- Takes a seat, and goes on with `done` once it is there.
---@param done? fun()
---@param alone? boolean quietly not where somebody sits
function M.sit(project, done, alone)
  if project.seat then return done and done() end
  M.ask(project, 'sit', { alone = alone }, done, function(fault)
    if not alone or vim.tbl_get(fault, 'data', 'code') ~= 'seat_taken' then window.fault(fault) end
  end)
end

local ASKED = 'imago seat %s in a terminal lets this Neovim sit, or a yes where somebody sits. The code holds for a minute.'

local HANDLERS = {
  ['imago/rows'] = function(project, event)
    if event.snapshot then project.rows = {} end
    for _, change in ipairs(event.snapshot or event.changes) do
      project.rows[change.topic] = project.rows[change.topic] or {}
      project.rows[change.topic][change.key] = change.value
    end
    tell(project, event.snapshot or event.changes)
  end,
  ['imago/seat'] = function(project, event)
    if event.type == 'asked' then return window.say(ASKED:format(event.code)) end
    project.seat = event.type == 'seated' and event or nil
    if event.trouble then window.say(event.trouble) end
    if event.why then window.say('the seat was left: ' .. event.why) end
    tell(project, {})
  end,
  ['imago/event'] = function(_, event)
    if event.plan then window.say('this waits for an answer: :Imago plans') end
  end,
}

local function of_project(heard)
  return function(_, event, context)
    if M.projects[context.client_id] then heard(M.projects[context.client_id], event) end
  end
end

--- Sits once a person can see this Neovim: nobody answers in one without a screen.
local function sit_where_seen(project)
  local function sit() M.sit(project, nil, true) end
  if #vim.api.nvim_list_uis() > 0 then return sit() end
  vim.api.nvim_create_autocmd('UIEnter', { once = true, callback = vim.schedule_wrap(sit) })
end

local function on_init(client)
  local project = M.projects[client.id]
  local queue = project.queue
  project.queue = nil
  M.ask(project, 'subscribe', { topics = TOPICS })
  if M.config.sit then sit_where_seen(project) end
  vim.tbl_map(function(later) later() end, queue)
end

--- Errors of programs are diagnostics, and their values are hints: the language server tells both.
local function on_attach(client, buf)
  if not M.config.inline then return end
  vim.diagnostic.config({ virtual_text = true }, vim.lsp.diagnostic.get_namespace(client.id))
  if vim.lsp.inlay_hint then vim.lsp.inlay_hint.enable(true, { bufnr = buf }) end
end

local function on_exit(_, _, id)
  local project = M.projects[id]
  if not project then return end
  M.projects[id], project.rows, project.seat = nil, {}, nil
  tell(project, {})
end

local function root_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local folder = vim.bo[buf].buftype == '' and name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
  local mark = vim.fs.find(MARKS, { path = folder, upward = true, stop = vim.loop.os_homedir() })[1]
  return mark and vim.fs.dirname(mark) or folder
end

--- The project of a buffer, connected to where it was not. nil, and said, where there is no imago.
---@return imago.Project?
function M.attach(buf, quietly)
  local mine = M.projects[vim.b[buf].imago_project or 0]
  if mine then return mine end
  if vim.fn.executable(M.config.cmd[1]) == 0 then
    return not quietly and window.say('there is no ' .. M.config.cmd[1] .. '; see :checkhealth imago') or nil
  end
  require('imago.plans')
  local wanted = { name = 'imago', cmd = M.config.cmd, root_dir = root_of(buf), on_attach = on_attach }
  wanted.handlers = vim.tbl_map(of_project, HANDLERS)
  wanted.on_init, wanted.on_exit = vim.schedule_wrap(on_init), vim.schedule_wrap(on_exit)
  -- A client that somebody else made does not tell us its rows.
  local function is_ours(client) return M.projects[client.id] and client.config.root_dir == wanted.root_dir end
  local id = vim.lsp.start(wanted, { bufnr = buf, reuse_client = is_ours })
  if not id then return nil end
  M.projects[id] = M.projects[id] or { id = id, queue = {}, rows = {} }
  return M.projects[id]
end

return M
