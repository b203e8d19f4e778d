--- The connection to `imago lsp`, one for each project. The rows that it tells are all the state that there is.
local window = require('imago.window')

local M = {}

---@class imago.Project
---@field id integer of its client
---@field root string
---@field ready boolean
---@field queue fun()[] what waits until it is ready
---@field rows table<string, table<string, table>> by topic and key
---@field seat? table what `seated` said
---@field code? string to show while a person is asked to let this editor sit
---@field kernel? string the program that the person chose

---@type table<integer, imago.Project>
M.projects = {}

local MARKS = { 'imago.toml', '.git', 'pyproject.toml', 'setup.py', 'package.json', '.venv' }
local TOPICS = { 'approvals', 'errors', 'kernels', 'seats', 'suspensions' }
local changed = {}

--- `heard` is told of each change of rows: the project, the changes, and whether they are all there is.
---@param heard fun(project: imago.Project, changes: table[])
function M.on_change(heard) table.insert(changed, heard) end

local function tell(project, changes)
  for _, heard in ipairs(changed) do
    heard(project, changes)
  end
  vim.cmd.redrawstatus()
end

-- Neovim 0.11 has a method here, older ones a function.
local function send(client, ...) return vim.fn.has('nvim-0.11') == 1 and client:request(...) or client.request(...) end

--- Asks the daemon for an operation. A fault is said, where nobody takes it.
---@param project imago.Project
---@param name string
---@param params? table
---@param done? fun(result: any)
---@param failed? fun(fault: table)
function M.ask(project, name, params, done, failed)
  if not project.ready then
    return table.insert(project.queue, function() M.ask(project, name, params, done, failed) end)
  end
  local client = vim.lsp.get_client_by_id(project.id)
  if not client then return window.say('imago lsp has ended; the next command starts it again') end
  local given = params and next(params) and params or vim.empty_dict()
  send(client, 'imago/' .. name, given, function(fault, result)
    if fault then
      (failed or window.fault)(fault)
    elseif done then
      done(result)
    end
  end, 0)
end

--- Runs a tool. `done` is given its envelope, with the text for a person as `shown`.
---@param project imago.Project
---@param tool string
---@param args table
---@param done fun(envelope: table)
function M.call(project, tool, args, done) M.ask(project, 'call', { tool = tool, args = args, shown = true }, done) end

local function on_rows(_, event, context)
  local project = M.projects[context.client_id]
  if not project then return end
  if event.snapshot then project.rows = {} end
  for _, change in ipairs(event.snapshot or event.changes) do
    local rows = project.rows[change.topic] or {}
    project.rows[change.topic] = rows
    rows[change.key] = change.value
  end
  tell(project, event.snapshot or event.changes)
end

local function on_seat(_, event, context)
  local project = M.projects[context.client_id]
  if not project then
    return
  elseif event.type == 'asked' then
    project.code = event.code
    local asked = event.code and 'a person lets this editor sit, in a terminal: imago seat ' .. event.code
    window.say(asked or 'those who have a seat are asked to let this editor sit')
  elseif event.type == 'left' and project.seat then
    local resume = project.seat.resume
    project.seat = nil
    if event.why then
      window.say('the seat was left: ' .. event.why)
      M.sit(project, nil, resume)
    end
  end
  tell(project, {})
end

--- Takes a seat, and goes on with `done` once it is there.
---@param project imago.Project
---@param done? fun()
---@param resume? string the secret of the seat that was lost
function M.sit(project, done, resume)
  if project.seat then return done and done() end
  M.ask(project, 'sit', { resume = resume }, function(seated)
    project.seat, project.code = seated, nil
    if seated.trouble then window.say(seated.trouble, vim.log.levels.WARN) end
    tell(project, {})
    if done then done() end
  end, function(fault)
    project.code = nil
    if resume then return M.sit(project, done) end
    window.fault(fault)
  end)
end

---@param project imago.Project
function M.leave(project)
  M.ask(project, 'leave', nil, function()
    project.seat = nil
    tell(project, {})
  end)
end

local function root_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local folder = vim.bo[buf].buftype == '' and name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
  local mark = vim.fs.find(MARKS, { path = folder, upward = true, stop = vim.loop.os_homedir() })[1]
  return mark and vim.fs.dirname(mark) or folder
end

--- The project of a buffer, connected to where it was not. nil, and said, where there is no imago.
---@param buf? integer
---@return imago.Project?
function M.attach(buf)
  buf = buf or vim.api.nvim_get_current_buf()
  local config = require('imago').config
  local mine = M.projects[vim.b[buf].imago_project]
  if mine then return mine end
  if vim.fn.executable(config.cmd[1]) == 0 then
    return window.say(config.cmd[1] .. ' is not on the PATH; see :checkhealth imago', vim.log.levels.WARN)
  end
  local root = root_of(buf)
  local id = vim.lsp.start({
    name = 'imago',
    cmd = config.cmd,
    root_dir = root,
    handlers = { ['imago/rows'] = on_rows, ['imago/seat'] = on_seat },
    on_init = vim.schedule_wrap(function(client)
      local project = M.projects[client.id]
      project.ready = true
      M.ask(project, 'subscribe', { topics = TOPICS })
      if config.sit then M.sit(project) end
      for _, later in ipairs(project.queue) do
        later()
      end
    end),
    on_exit = vim.schedule_wrap(function(_, _, client_id)
      local project = M.projects[client_id]
      M.projects[client_id] = nil
      if project then
        project.rows = {}
        tell(project, {})
      end
    end),
  }, {
    bufnr = buf,
    -- A client that somebody else made does not tell us its rows.
    reuse_client = function(client, wanted)
      return M.projects[client.id] ~= nil and client.config.root_dir == wanted.root_dir
    end,
  })
  if not id then return nil end
  local project = M.projects[id] or { id = id, root = root, ready = false, queue = {}, rows = {} }
  M.projects[id] = project
  require('imago.plans').begin()
  return project
end

--- Rows of a topic, in the order of their keys, that `isMeant` lets pass.
---@param project imago.Project
---@param topic string
---@param is_meant? fun(row: table): boolean
---@return table[]
function M.rows(project, topic, is_meant)
  local keys = vim.tbl_keys(project.rows[topic] or {})
  table.sort(keys)
  local rows = vim.tbl_map(function(key) return project.rows[topic][key] end, keys)
  return is_meant and vim.tbl_filter(is_meant, rows) or rows
end

---@param project imago.Project
---@return table[]
function M.waiting(project)
  return M.rows(project, 'approvals', function(row) return row.state == 'waits' end)
end

return M
