-- Neovim with tessera-lsp: what a user does, by the editor's own functions. The build folder is in TESSERA_BUILD.
-- Run by tests/lsp/clients.sh.

local folder_of_tests = debug.getinfo(1, 'S').source:sub(2):match('(.*/)')
vim.opt.runtimepath:append(folder_of_tests .. '../../editors/neovim')

local function check(condition, what)
  if not condition then error(what, 2) end
end

local function eventually(condition, what)
  check(vim.wait(10000, condition, 20), what)
end

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
end

--- The line, from 1, in which a text stands first, and where in it.
local function find(text)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at = line:find(text, 1, true)
    if at then return number, at end
  end
  error('no ' .. text)
end

--- Another line in the place of the one in which a text stands first.
local function set_line(text, line)
  local number = find(text)
  vim.api.nvim_buf_set_lines(0, number - 1, number, false, { line })
end

--- The cursor on the first occurrence of a text, some bytes further.
local function go_to(text, into)
  local number, at = find(text)
  vim.api.nvim_win_set_cursor(0, { number, at - 1 + (into or 0) })
end

local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params or vim.lsp.util.make_position_params(), 10000)
  check(answers, method .. ' is not answered')
  for _, answer in pairs(answers) do
    check(not answer.error, method .. ': ' .. vim.inspect(answer.error))
    return answer.result
  end
end

local function diagnostics_follow_the_text()
  eventually(function() return #vim.diagnostic.get(0) == 0 end, 'a correct file has diagnostics')
  set_line('return gelu', '    return gellu(h)')
  eventually(function() return #vim.diagnostic.get(0) == 1 end, 'an error has no diagnostic')
  check(vim.diagnostic.get(0)[1].code == 'unknown-name', 'it is another diagnostic')
  set_line('return gellu', '    return gelu(h)')
  eventually(function() return #vim.diagnostic.get(0) == 0 end, 'the diagnostic stays')
end

local function hover_and_definition()
  go_to('scaled(layernorm')
  local text = ask('textDocument/hover').contents.value
  check(text:find('def scaled(x: Tensor[B, D, T], by: float = 2.0)', 1, true), 'hover says ' .. text)
  vim.lsp.buf.definition()
  local line = find('def scaled')
  eventually(function() return vim.api.nvim_win_get_cursor(0)[1] == line end, 'the cursor does not go to the definition')
end

local function references_and_rename()
  go_to('by: float')
  vim.lsp.buf.references({ includeDeclaration = true })
  eventually(function() return #vim.fn.getqflist() == 3 end, 'the list of references is another one')
  vim.cmd('cclose')
  go_to('by: float')
  vim.lsp.buf.rename('factor')
  eventually(function() return lines():find('scaled(layernorm(x), factor=0.5)', 1, true) end, 'a call keeps the old name')
  check(lines():find('y = x * factor', 1, true), 'the body keeps the old name')
end

local function completion()
  go_to('gelu', 2)
  local items = vim.lsp.util.text_document_completion_list_to_complete_items(ask('textDocument/completion'), 'ge')
  local found = false
  for _, item in ipairs(items) do found = found or item.word == 'gelu' end
  check(found, 'gelu is not offered')
end

local function formatting()
  set_line('y = x', '    y=x*factor')
  vim.lsp.buf.formatting_sync(nil, 10000)
  check(lines():find('    y = x * factor', 1, true), 'formatting leaves ' .. lines())
end

local function lenses()
  require('tessera.stages').setup()
  vim.lsp.codelens.refresh()
  eventually(function() return #vim.lsp.codelens.get(0) == 5 end, 'the entry has other lenses than five')
  go_to('@jit')
  -- One of several lenses of a line is chosen.
  vim.ui.select = function(options, _, choose)
    for _, option in ipairs(options) do
      if option.lens.command.title == 'Graph' then choose(option) end
    end
  end
  vim.lsp.codelens.run()
  local source, stage = vim.api.nvim_get_current_buf(), nil
  local found = vim.wait(60000, function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      local name = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window))
      if name:find('tessera://entry graph', 1, true) then stage = window end
    end
    return stage ~= nil
  end, 20)
  check(found, 'the Graph is not shown')
  local text = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(stage), 0, -1, false)
  check(table.concat(text):find('gir.gelu', 1, true), 'the Graph is ' .. vim.inspect(text))
  local line = find('return gelu')
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('doautocmd CursorMoved')
  local marked = text[vim.api.nvim_win_get_cursor(stage)[1]]
  check(marked:find('gir.', 1, true), 'the Graph stands at ' .. marked)
  vim.api.nvim_set_current_win(stage)
  vim.cmd([[execute "normal \<CR>"]])
  check(vim.api.nvim_get_current_buf() == source, 'Enter does not lead to the source')
  check(vim.api.nvim_win_get_cursor(0)[1] == line, 'Enter leads to another line')
end

local function main()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  local path = folder .. '/model.tsr'
  vim.fn.writefile(vim.fn.readfile(folder_of_tests .. 'model.tsr'), path)
  vim.cmd('edit ' .. path)
  local client = vim.lsp.start_client({ cmd = { vim.env.TESSERA_BUILD .. '/bin/tessera-lsp' }, root_dir = folder })
  check(client, 'the server does not start')
  vim.lsp.buf_attach_client(0, client)
  eventually(function() return vim.lsp.buf_is_attached(0, client) and vim.lsp.get_client_by_id(client).initialized end,
    'the server does not answer')
  diagnostics_follow_the_text()
  hover_and_definition()
  references_and_rename()
  completion()
  formatting()
  lenses()
  vim.lsp.stop_client(client)
  eventually(function() return vim.lsp.client_is_stopped(client) end, 'the server does not stop')
end

local good, problem = pcall(main)
if not good then
  io.stderr:write(tostring(problem) .. '\n')
  vim.cmd('cquit 1')
end
vim.cmd('qall!')
