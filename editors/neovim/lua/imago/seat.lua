--- The seat of this Neovim, and those who ask for one.
local client = require('imago.client')
local window = require('imago.window')
local M = {}

--- Who asks, and on what evidence.
local function asks(row)
  local through = row.through or {}
  return row.who
    .. ' wants a seat'
    .. (row.command == '' and '' or ', started with ' .. row.command)
    .. (through.code and ', shows the code ' .. through.code or '')
    .. (through.driver and ', may be driven by ' .. through.driver or '')
end

--- Takes a seat; with one, asks the person who else gets one.
function M.sit(project)
  local asking = client.waiting(project, 'seats')
  if #asking == 0 then
    return client.ask(project, 'sit', {}, function(seated) window.say('seated as ' .. seated.who) end)
  end
  window.choose(asking, 'seats wanted', asks, function(row)
    vim.ui.select({ 'no', 'yes' }, { prompt = window.line(asks(row)) .. '. Let it sit?' }, function(answer)
      if answer then client.ask(project, 'admit', { wanted = row.id, admit = answer == 'yes' }) end
    end)
  end)
end

function M.leave(project) client.ask(project, 'leave', {}) end

return M
