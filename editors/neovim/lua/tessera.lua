-- Starts tessera-lsp for .tsr files: require("tessera").setup{} in init.lua. Needs Neovim 0.7, and no plugin.
local M = {}

M.defaults = {
  cmd = { "tessera-lsp" },
  format_on_save = false,
  code_lenses = true,
  on_attach = nil,
  settings = {},
}

local clients = {} -- by the root folder

local function find_root(path)
  local folder = vim.fn.fnamemodify(path, ":p:h")
  local marker = vim.fn.finddir(".git", folder .. ";")
  if marker == "" then
    return folder
  end
  return vim.fn.fnamemodify(marker, ":p:h:h")
end

local function map_keys(buffer)
  local function map(keys, action)
    vim.keymap.set("n", keys, action, { buffer = buffer, silent = true })
  end
  map("K", vim.lsp.buf.hover)
  map("gd", vim.lsp.buf.definition)
  map("gr", vim.lsp.buf.references)
  map("gO", vim.lsp.buf.document_symbol)
  map("<leader>rn", vim.lsp.buf.rename)
  map("<leader>ca", vim.lsp.buf.code_action)
  map("<leader>cl", vim.lsp.codelens.run)
  map("[d", vim.diagnostic.goto_prev)
  map("]d", vim.diagnostic.goto_next)
end

-- The lenses of entries and kernels, which show their stages.
local function refresh_lenses(buffer)
  vim.lsp.codelens.refresh()
  vim.api.nvim_create_autocmd({ "BufEnter", "InsertLeave", "BufWritePost" }, {
    group = vim.api.nvim_create_augroup("tessera-lenses-" .. buffer, { clear = true }),
    buffer = buffer,
    callback = vim.lsp.codelens.refresh,
  })
end

local function format(buffer)
  local clients_of = vim.lsp.buf_get_clients(buffer)
  if next(clients_of) == nil then
    return
  end
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ bufnr = buffer, timeout_ms = 2000 })
  else
    vim.lsp.buf.formatting_sync(nil, 2000)
  end
end

function M.attach(buffer, options)
  local path = vim.api.nvim_buf_get_name(buffer)
  if path == "" or vim.fn.executable(options.cmd[1]) == 0 then
    return nil
  end
  local root = find_root(path)
  if clients[root] == nil or vim.lsp.client_is_stopped(clients[root]) then
    clients[root] = vim.lsp.start_client({
      name = "tessera-lsp",
      cmd = options.cmd,
      root_dir = root,
      settings = options.settings,
      workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
      on_attach = function(client, attached)
        vim.bo[attached].omnifunc = "v:lua.vim.lsp.omnifunc"
        map_keys(attached)
        if options.code_lenses then
          vim.api.nvim_buf_call(attached, function() refresh_lenses(attached) end)
        end
        if options.on_attach then
          options.on_attach(client, attached)
        end
      end,
    })
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
  return clients[root]
end

function M.setup(given)
  local options = vim.tbl_deep_extend("force", M.defaults, given or {})
  require("tessera.stages").setup()
  local group = vim.api.nvim_create_augroup("tessera", { clear = true })
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    pattern = "tessera",
    callback = function(event)
      M.attach(event.buf, options)
    end,
  })
  if options.format_on_save then
    vim.api.nvim_create_autocmd("BufWritePre", {
      group = group,
      pattern = "*.tsr",
      callback = function(event)
        format(event.buf)
      end,
    })
  end
end

return M
