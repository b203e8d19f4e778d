--- What programs do, and what failed in them.
local client = require('imago.client')
local window = require('imago.window')
local M = {}

--- Puts the errors of the programs into the quickfix list, the newest first.
function M.errors(project)
  local rows = vim.tbl_values(project.rows.errors)
  if #rows == 0 then return window.say('no program has noted an error') end
  table.sort(rows, function(one, other) return one.at > other.at end)
  local items = vim.tbl_map(function(row)
    local text = ('%s (%s, %s, times: %d)'):format(row.what, row.kernel, row.where or row.at, row.times)
    -- A name that a program chose opens no other machine.
    local file = row.file and not row.file:find('://', 1, true) and row.file or nil
    return { filename = file, lnum = row.line, type = 'E', text = window.line(text) }
  end, rows)
  vim.fn.setqflist({}, ' ', { title = 'Imago: errors of programs', items = items })
  vim.cmd('botright copen')
end

function M.threads(project)
  client.call(project, 'threads', vim.empty_dict(), function(envelope)
    window.report(project, 'threads', window.lines(envelope.shown))
  end)
end

return M
