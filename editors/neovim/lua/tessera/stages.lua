-- A stage of a function beside its source: Graph, Schedule, Tile, Target, PTX or assembly. Where the cursor is in one of
-- the two, the lines of the same place are marked in the other; Enter goes to the source.
local M = {}

M.commands = {
  graph = "tessera.showGraph",
  schedule = "tessera.showSchedule",
  tile = "tessera.showTile",
  target = "tessera.showTarget",
  code = "tessera.showCode",
}

local marks = vim.api.nvim_create_namespace("tessera-stages")
local views = {} -- by buffer: {source = uri, lines = of the source by line, from 0}

local function mark(buffer, lines)
  vim.api.nvim_buf_clear_namespace(buffer, marks, 0, -1)
  for _, line in ipairs(lines) do
    vim.api.nvim_buf_add_highlight(buffer, marks, "Search", line, 0, -1)
  end
end

-- The window of this page that shows a buffer.
local function window_of(buffer)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_buf(window) == buffer then
      return window
    end
  end
end

local function place_at_cursor(buffer)
  local place = views[buffer].lines[vim.api.nvim_win_get_cursor(0)[1]]
  return type(place) == "table" and place or nil
end

-- From a stage to its sources.
local function follow_stage(buffer)
  local place = place_at_cursor(buffer)
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local other = vim.api.nvim_win_get_buf(window)
    local is_it = place and vim.uri_from_bufnr(other) == place.uri
    if not views[other] and vim.bo[other].filetype == "tessera" then
      mark(other, is_it and { place.line } or {})
    end
    if is_it then
      vim.api.nvim_win_set_cursor(window, { math.min(place.line + 1, vim.api.nvim_buf_line_count(other)), 0 })
    end
  end
end

-- From a source to its stages.
local function follow_source(buffer)
  local uri, line = vim.uri_from_bufnr(buffer), vim.api.nvim_win_get_cursor(0)[1] - 1
  for stage, view in pairs(views) do
    local window = window_of(stage)
    local found = {}
    for number, place in ipairs(window and view.lines or {}) do
      if type(place) == "table" and place.uri == uri and place.line == line then
        table.insert(found, number - 1)
      end
    end
    if window then
      mark(stage, found)
    end
    if found[1] then
      vim.api.nvim_win_set_cursor(window, { found[1] + 1, 0 })
    end
  end
end

local function go_to_source(buffer)
  local place = place_at_cursor(buffer)
  if not place then
    return
  end
  local source = vim.uri_to_bufnr(place.uri)
  local window = window_of(source)
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd("wincmd p")
    vim.api.nvim_set_current_buf(source)
  end
  vim.bo[source].buflisted = true
  vim.api.nvim_win_set_cursor(0, { place.line + 1, 0 })
end

local function new_view(name)
  local old = vim.fn.bufnr("^" .. vim.fn.escape(name, "\\[]*?{},") .. "$")
  local buffer = old > 0 and old or vim.api.nvim_create_buf(false, true)
  if old <= 0 then
    vim.api.nvim_buf_set_name(buffer, name)
    vim.keymap.set("n", "<CR>", function() go_to_source(buffer) end, { buffer = buffer, silent = true })
    local group = vim.api.nvim_create_augroup("tessera-stage-" .. buffer, { clear = true })
    vim.api.nvim_create_autocmd("CursorMoved", {
      group = group, buffer = buffer, callback = function() follow_stage(buffer) end,
    })
    vim.api.nvim_create_autocmd("BufWipeout", {
      group = group, buffer = buffer, callback = function() views[buffer] = nil end,
    })
  end
  return buffer
end

local function show(source, stage, result)
  local name = string.format("tessera://%s %s %s", result["function"], stage, result.target)
  local buffer = new_view(name)
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(result.text, "\n"))
  vim.bo[buffer].modifiable = false
  views[buffer] = { lines = result.lines }
  if not window_of(buffer) then
    local window = vim.api.nvim_get_current_win()
    vim.cmd("rightbelow vsplit")
    vim.api.nvim_win_set_buf(0, buffer)
    vim.api.nvim_set_current_win(window)
  end
  local group = vim.api.nvim_create_augroup("tessera-source-" .. source, { clear = true })
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = group, buffer = source, callback = function() follow_source(source) end,
  })
  if vim.api.nvim_get_current_buf() == source then
    follow_source(source)
  end
  return buffer
end

-- Asks the server for a stage ("graph") of what stands at `place`, {uri, position}, and shows it.
function M.show(client, source, stage, place)
  local argument = { uri = place.uri, position = place.position, stage = M.commands[stage] }
  client.request("workspace/executeCommand", { command = "tessera.lower", arguments = { argument } },
    function(problem, result)
      if problem then
        vim.notify(problem.message, vim.log.levels.ERROR)
      else
        show(source, stage, result)
      end
    end, source)
end

-- The same of the function at the cursor.
function M.show_here(stage)
  if not M.commands[stage] then
    return vim.notify("there is no stage '" .. stage .. "'", vim.log.levels.ERROR)
  end
  local place = vim.lsp.util.make_position_params(0, "utf-16")
  for _, client in pairs(vim.lsp.buf_get_clients(0)) do
    if client.name == "tessera-lsp" then
      return M.show(client, vim.api.nvim_get_current_buf(), stage,
        { uri = place.textDocument.uri, position = place.position })
    end
  end
  vim.notify("tessera-lsp does not run here", vim.log.levels.ERROR)
end

-- What code lenses call, and `:TesseraShow STAGE`.
function M.setup()
  for stage, command in pairs(M.commands) do
    vim.lsp.commands[command] = function(lens, context)
      M.show(vim.lsp.get_client_by_id(context.client_id), context.bufnr, stage, lens.arguments[1])
    end
  end
  vim.api.nvim_create_user_command("TesseraShow", function(given)
    M.show_here(given.args)
  end, {
    nargs = 1,
    complete = function() return { "graph", "schedule", "tile", "target", "code" } end,
  })
end

return M
