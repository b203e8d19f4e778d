--- Plans of a project: signs where they wait, the one to be shown, and changes to be taken back.
local client = require('imago.client')
local plan = require('imago.plan')
local window = require('imago.window')
local M = {}

local SPACE = vim.api.nvim_create_namespace('imago-plans')

local SIGN = { sign_text = '?', sign_hl_group = 'DiagnosticSignWarn', priority = 20, strict = false }

local function mark_file(file)
  local buf = window.buffer_of(file.path)
  for _, hunk in ipairs(buf and file.hunks or {}) do
    vim.api.nvim_buf_set_extmark(buf, SPACE, math.max(hunk.line, 1) - 1, 0, SIGN)
  end
end

--- Puts a sign where a file that is open would change. Seats alone are told of places.
local function mark()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1)
  end
  local function mark_row(project, row)
    if row.files then return vim.tbl_map(mark_file, row.files) end
    row.files = {}
    client.ask(project, 'plan', { plan = row.id }, function(found)
      row.files = found.files
      mark()
    end, function() row.files = nil end)
  end
  for _, project in pairs(client.projects) do
    for _, row in ipairs(project.seat and client.waiting(project, 'approvals') or {}) do
      mark_row(project, row)
    end
  end
end

vim.api.nvim_create_autocmd('BufReadPost', {
  group = vim.api.nvim_create_augroup('imago-plans', {}),
  callback = mark,
})

--- Rows of a project have changed, or its seat.
function M.changed(project, changes)
  mark()
  plan.changed(project)
  local function has_ended(change) return change.topic == 'approvals' and change.value and change.value.ended end
  for _, buf in ipairs(#vim.tbl_filter(has_ended, changes) > 0 and vim.api.nvim_list_bufs() or {}) do
    if not vim.bo[buf].modified then pcall(vim.cmd.checktime, buf) end
  end
end

--- Shows the only plan that waits, or the one that is chosen.
function M.plans(project)
  local function name(row) return row.title .. ', asked by ' .. row.who end
  local function open(row) plan.open(project, row.id) end
  -- The daemon may know of one before its row is here.
  client.ask(project, 'approvals', {}, function(found) window.choose(found.approvals, 'plans that wait', name, open) end)
end

--- Takes back the change of that name, or else the newest that was not taken back: a plan too.
function M.undo(project, change)
  client.ask(project, 'approvals', {}, function(found)
    local function is_meant(row) return row.tool ~= 'undo_change' and row.ended and row.ended.undo end
    local newest = table.remove(vim.tbl_filter(is_meant, found.ends))
    if change == '' and not newest then return window.say('there is no change to take back') end
    local args = { change = change ~= '' and change or newest.ended.undo }
    client.call(project, 'undo_change', args, function(envelope) window.say(envelope.shown) end)
  end)
end

return M
