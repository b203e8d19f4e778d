--- The connection to `imago lsp`, one for each project. The rows that it tells are all the state that there is.
local window = require('imago.window')
local M = {}

-- `id` is that of its client; `queue` waits for the first rows; `rows` are by topic and key.
---@alias imago.Project { id: integer, queue?: fun(project: imago.Project)[], rows: table, seat?: table }

M.projects = {} ---@type table<integer, imago.Project>

local DEFAULTS = { cmd = { 'imago', 'lsp' }, sit = true, inline = true }
M.config = vim.tbl_extend('force', DEFAULTS, vim.g.imago or {}) ---@type table see :help imago-settings

local MARKS = { 'imago.toml', '.git', 'pyproject.toml', 'setup.py', 'package.json', '.venv' }

local function no_rows() return { approvals = {}, errors = {}, kernels = {}, seats = {}, suspensions = {} } end

local function tell(project, changes)
  require('imago.plans').changed(project, changes)
  vim.cmd.redrawstatus({ bang = true })
end

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

--- Runs a tool, for code in a program of that language. `done` is given its envelope, with the text for a person as `shown`.
---@param language? string
function M.call(project, tool, args, done, language)
  M.ask(project, 'call', { tool = tool, args = args, language = language, shown = true, follow = true }, done)
end

-- Which rows of a topic wait for a person.
local WAITS = {
  approvals = function(row) return row.state == 'waits' end,
  seats = function(row) return row.id and not row.why end,
  suspensions = function(row) return row.news.type ~= 'ended' end,
}

--- Rows of a topic that wait for a person, in the order of their names.
function M.waiting(project, topic)
  local rows = vim.tbl_filter(WAITS[topic], vim.tbl_values(project.rows[topic]))
  table.sort(rows, function(one, other) return one.id < other.id end)
  return rows
end

local ASKED = 'imago seat %s in a terminal lets this Neovim sit, or a yes where somebody sits. The code holds for a minute.'

--- What to do with all that `imago lsp` tells of a project.
local function handlers_of(project)
  return {
    ['imago/rows'] = function(_, event)
      if event.snapshot then project.rows = no_rows() end
      for _, change in ipairs(event.snapshot or event.changes) do
        project.rows[change.topic][change.key] = change.value
      end
      tell(project, event.snapshot or event.changes)
    end,
    ['imago/seat'] = function(_, event)
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
end

local function begin(project)
  -- Its rows are there before the answer is.
  M.ask(project, 'status', {}, function()
    local queue = project.queue
    project.queue = nil
    vim.tbl_map(function(done) done(project) end, queue)
  end)
end

--- Errors of programs are diagnostics, and their values are hints: the language server tells both.
local function on_attach(client, buf)
  if not M.config.inline then return end
  vim.diagnostic.config({ virtual_text = true }, vim.lsp.diagnostic.get_namespace(client.id))
  if vim.lsp.inlay_hint then vim.lsp.inlay_hint.enable(true, { bufnr = buf }) end
end

local function forget(project)
  M.projects[project.id], project.rows, project.seat = nil, no_rows(), nil
  tell(project, {})
end

local function root_of(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  local folder = vim.bo[buf].buftype == '' and name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
  local mark = vim.fs.find(MARKS, { path = folder, upward = true, stop = vim.loop.os_homedir() })[1]
  return mark and vim.fs.dirname(mark) or folder
end

--- The project that a buffer is connected to by now; nil where there is no imago.
---@return imago.Project?
local function project_of(buf)
  local mine = M.projects[vim.b[buf].imago_project or 0]
  if mine or vim.fn.executable(M.config.cmd[1]) == 0 then return mine end
  local project = { queue = {}, rows = no_rows() }
  local id = vim.lsp.start({
    name = 'imago-plugin', -- a client of that name is ours, and there is one for each root
    cmd = M.config.cmd,
    root_dir = root_of(buf),
    -- Nobody answers in a Neovim without a screen.
    init_options = { follow = vim.tbl_keys(no_rows()), sit = M.config.sit and #vim.api.nvim_list_uis() > 0 },
    handlers = handlers_of(project),
    on_init = vim.schedule_wrap(function() begin(project) end),
    on_attach = on_attach,
    on_exit = vim.schedule_wrap(function() forget(project) end),
  }, { bufnr = buf })
  if not id then return nil end
  project.id = id
  M.projects[id] = M.projects[id] or project
  return M.projects[id]
end

--- Connects a buffer to its project, and goes on with `done` once its rows are there.
---@param done? fun(project: imago.Project)
function M.attach(buf, done)
  local project = project_of(buf)
  if not done then return end
  if not project then return window.say('there is no ' .. M.config.cmd[1] .. '; see :checkhealth imago') end
  if not project.queue then return done(project) end
  table.insert(project.queue, done)
end

return M
