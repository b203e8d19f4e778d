--- The connection to `imago lsp`, one for each project. The rows that it tells are all the state that there is.
local window = require('imago.window')
local M = {}
-- `rows` are by topic and key; `waits` says how many wait for a person; `places` are lines that plans would change.
---@alias imago.Project { id: integer, rows: table, waits: string, places: table[], seat?: table }
M.projects = {} ---@type table<integer, imago.Project>
-- See :help imago-settings.
M.config = vim.tbl_extend('force', { cmd = { 'imago', 'lsp' }, sit = true, inline = true }, vim.g.imago or {})
local MARKS = { 'imago.toml', '.git', 'pyproject.toml', 'setup.py', 'package.json', '.venv' }
local function no_rows() return { approvals = {}, errors = {}, kernels = {}, seats = {}, suspensions = {} } end
--- Asks for an operation of the daemon. A fault is said, unless `failed` takes it.
---@param done? fun(result: any)
---@param failed? fun(fault: table)
function M.ask(project, name, params, done, failed)
  local client = vim.lsp.get_client_by_id(project.id)
  if not client then return window.say('imago lsp has ended; the next command starts it again') end
  client.rpc.request('imago/' .. name, params, function(fault, result)
    if fault then return (failed or window.fault)(fault) end
    if done then done(result) end
  end)
end

--- Runs a tool, for code in a program of that language. `done` is given its envelope, with its text as `shown`.
function M.call(project, tool, args, done, language)
  M.ask(project, 'call', { tool = tool, args = args, language = language, shown = true, follow = true }, done)
end

--- Runs a tool that looks, and shows its answer.
function M.show(project, tool, args)
  M.call(project, tool, args, function(envelope) window.report(project, tool, window.lines(envelope.shown)) end)
end

--- Rows of a topic that wait for a person, in the order of their lines.
function M.waiting(project, topic)
  local rows = vim.tbl_filter(function(row) return row.waits end, vim.tbl_values(project.rows[topic]))
  table.sort(rows, function(one, other) return one.shown < other.shown end)
  return rows
end

--- What `imago lsp` tells of a project.
local HEARS = {
  ['imago/rows'] = function(project, event)
    if event.snapshot then project.rows = no_rows() end
    for _, change in ipairs(event.snapshot or event.changes) do
      project.rows[change.topic][change.key] = change.value
    end
  end,
  ['imago/waits'] = function(project, event)
    project.waits = event.text
    if event.news and project.seat then window.say(event.text .. ': :Imago plans') end
  end,
  ['imago/places'] = function(project, event) project.places = event.places end,
  ['imago/seat'] = function(project, event)
    project.seat = event.type == 'seated' and event or nil
    if not project.seat or event.trouble then window.say(event.shown) end
  end,
  ['imago/event'] = function(project, event)
    return event.plan and require('imago.plan').open(project, event.plan)
  end,
}

local function tell(project, changes)
  require('imago.plans').changed(project, changes)
  vim.cmd.redrawstatus({ bang = true })
end

--- Errors of programs are diagnostics, and hints that name them with their values: the language server tells both.
local function on_attach(client, buf)
  if not M.config.inline then return end
  local hints, others = vim.lsp.inlay_hint, { severity = { max = vim.diagnostic.severity.WARN } }
  vim.diagnostic.config({ virtual_text = not hints or others }, vim.lsp.diagnostic.get_namespace(client.id))
  if hints then hints.enable(true, { bufnr = buf }) end
end

local function root_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local folder = vim.bo[buf].buftype == '' and name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
  local mark = vim.fs.find(MARKS, { path = folder, upward = true, stop = vim.loop.os_homedir() })[1]
  return mark and vim.fs.dirname(mark) or folder
end

--- Connects a buffer to its project, where there is an imago.
---@return imago.Project?
function M.attach(buf)
  local mine = M.projects[vim.b[buf].imago_project or 0]
  if mine or vim.fn.executable(M.config.cmd[1]) == 0 then return mine end
  local project = { rows = no_rows(), waits = '', places = {} }
  local function forget()
    M.projects[project.id], project.seat = nil, nil
    project.rows, project.waits, project.places = no_rows(), '', {}
    tell(project, {})
  end
  local has_screen = #vim.api.nvim_list_uis() > 0 -- else nobody could answer
  project.id = vim.lsp.start({
    name = 'imago-plugin', -- a client of that name is ours, and there is one for each root
    cmd = M.config.cmd,
    root_dir = root_of(buf),
    init_options = { follow = vim.tbl_keys(no_rows()), places = true, sit = M.config.sit and has_screen },
    handlers = vim.tbl_map(function(hears)
      return function(_, event)
        hears(project, event)
        tell(project, event.snapshot or event.changes or {})
      end
    end, HEARS),
    on_attach = on_attach,
    on_exit = vim.schedule_wrap(forget),
  }, { bufnr = buf })
  if not project.id then return nil end
  M.projects[project.id] = M.projects[project.id] or project
  return M.projects[project.id]
end

--- The same, and goes on with `done` once its rows are there, or with `failed`.
---@param done fun(project: imago.Project, status: table)
function M.reach(buf, done, failed)
  local project = M.attach(buf)
  local none = 'there is no program ' .. M.config.cmd[1] .. (failed and '' or ': see :checkhealth imago')
  if not project then return (failed or window.fault)({ message = none }) end
  -- Its rows are there before the answer is.
  M.ask(project, 'status', {}, function(status) done(project, status) end, failed)
end
return M
