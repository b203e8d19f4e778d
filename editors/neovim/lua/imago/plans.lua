--- Plans of a project: signs where they wait, the one to be shown, changes to be taken back, and the seat.
local client = require('imago.client')
local plan = require('imago.plan')
local window = require('imago.window')
local M = {}
local SPACE = vim.api.nvim_create_namespace('imago-plans')
local SIGN = { sign_text = '?', sign_hl_group = 'DiagnosticSignWarn', priority = 20, strict = false }
--- Puts a sign where a file that is open would change.
local function mark()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    vim.api.nvim_buf_clear_namespace(buf, SPACE, 0, -1)
  end
  for _, project in pairs(client.projects) do
    for _, place in ipairs(project.places) do
      local buf = window.buffer_of(place.path)
      if buf then vim.api.nvim_buf_set_extmark(buf, SPACE, math.max(place.line, 1) - 1, 0, SIGN) end
    end
  end
end

vim.api.nvim_create_autocmd('BufReadPost', { group = vim.api.nvim_create_augroup('imago-plans', {}), callback = mark })

--- Rows of a project have changed, or its seat.
function M.changed(project, changes)
  mark()
  plan.changed(project)
  local function has_ended(change) return change.topic == 'approvals' and change.value and change.value.ended end
  for _, buf in ipairs(#vim.tbl_filter(has_ended, changes) > 0 and vim.api.nvim_list_bufs() or {}) do
    if not vim.bo[buf].modified then pcall(vim.cmd.checktime, buf) end
  end
end

--- Shows the only plan that waits, or the one that is chosen. What waits for somebody to sit is a plan then.
function M.plans(project)
  window.choose(client.waiting(project, 'approvals'), 'plans that wait', function(row)
    if row.id then return plan.open(project, row.id) end
    client.ask(project, 'sit', {})
  end)
end

--- Takes back the change of that name, or of that plan, or else the newest: a plan too.
function M.undo(project, change)
  client.call(project, 'undo_change', { change = change }, function(envelope) window.say(envelope.shown) end)
end

--- Takes a seat; with one, asks the person who else gets one.
function M.sit(project)
  local asking = client.waiting(project, 'seats')
  if #asking == 0 then return client.ask(project, 'sit', {}, function(seated) window.say(seated.shown) end) end
  window.choose(asking, 'seats wanted', function(row)
    vim.ui.select({ 'no', 'yes' }, { prompt = window.line(row.shown) .. '. Let it sit?' }, function(answer)
      if answer then client.ask(project, 'admit', { wanted = row.id, admit = answer == 'yes' }) end
    end)
  end)
end

function M.leave(project) client.ask(project, 'leave', {}) end
return M
