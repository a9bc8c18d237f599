-- Sourced by editors/tests.sh in a Neovim without other configuration.
local failures = {}

local function expect(what, found, wanted)
  if not vim.deep_equal(found, wanted) then
    table.insert(failures, what .. ": " .. vim.inspect(found) .. ", not " .. vim.inspect(wanted))
  end
end

local function buffer(text)
  vim.cmd("enew!")
  vim.bo.filetype = "tessera"
  vim.cmd("syntax sync fromstart")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n"))
end

local function lines()
  return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
end

-- The syntax group of the first place with a word.
local function group(word)
  vim.fn.cursor(1, 1)
  local place = vim.fn.searchpos("\\V" .. vim.fn.escape(word, "\\"), "cnW")
  return vim.fn.synIDattr(vim.fn.synID(place[1], place[2], 1), "name")
end

local function test_syntax()
  buffer([=["""Says what
it is: def."""
from tessera.nn import gelu  # of def
%if defined(SIZE)
const WIDTH = 0x40
%endif
@kernel.schedule(s)
def f(x: Tensor[B, D, bf16 @accum(f32)]) -> Tensor[B, D, bf16] !{rng} where D % 2 == 0:
    y = tile.load(x) + where(x, 'a\n', None) * 1.5e3
    return softmax(y)]=])
  for word, wanted in pairs({
    ["it is: def"] = "tesseraString", ["from"] = "tesseraInclude", ["# of def"] = "tesseraComment",
    ["%if"] = "tesseraPreProc", ["const"] = "tesseraDeclarator", ["0x40"] = "tesseraNumber",
    ["@kernel"] = "tesseraDecorator", ["def f"] = "tesseraDef", ["f(x"] = "tesseraName", ["Tensor"] = "tesseraType",
    ["bf16"] = "tesseraDType", ["@accum"] = "tesseraPolicy", ["!{rng}"] = "tesseraEffects",
    ["where D"] = "tesseraWhere", ["load"] = "tesseraTile", ["where("] = "tesseraFunction", ["\\n"] = "tesseraEscape",
    ["None"] = "tesseraConstant", ["1.5e3"] = "tesseraFloat", ["return"] = "tesseraStatement",
    ["softmax"] = "tesseraFunction", ["y)"] = "",
  }) do
    expect("colour of " .. word, group(word), wanted)
  end
end

local function test_indentation()
  local text = [[
module M(D: dim):
    w: Param[D, f32] = ones()

    def f(self, x,
          *, y=1):
        if x:
            return [
                1, 2,
            ]
        elif y:
            pass
        z = (x +
             y)  # of f
        for i in x:
            z = z + i]]
  buffer(text)
  vim.cmd("silent normal! gg=G")
  expect("indentation", lines(), text)
  buffer("if x:")
  vim.cmd("silent normal oreturn x")
  vim.cmd("silent normal oelse:")
  vim.cmd("silent normal opass")
  expect("typed", lines(), "if x:\n    return x\nelse:\n    pass")
end

local function test_format()
  if vim.fn.executable("tessera-fmt") == 0 then
    print("tessera-fmt is not on the PATH: formatting is not tested")
    return
  end
  buffer("x=1\ny  =  2\nz=3")
  vim.cmd("2TesseraFormat")
  expect("a line formatted", lines(), "x=1\ny = 2\nz=3")
  vim.cmd("silent normal! Ggqq")
  expect("gqq", lines(), "x=1\ny = 2\nz = 3")
  vim.cmd("TesseraFormat")
  expect("all formatted", lines(), "x = 1\ny = 2\nz = 3")
  buffer("x=(1")
  vim.cmd("silent! TesseraFormat")
  expect("broken text", lines(), "x=(1")
end

local function test_files()
  vim.cmd("edit! " .. vim.fn.fnameescape(vim.env.TESSERA_ROOT .. "/stdlib/matmul.tsr"))
  expect("filetype", vim.bo.filetype, "tessera")
  expect("commentstring", vim.bo.commentstring, "# %s")
  expect("shiftwidth", vim.bo.shiftwidth, 4)
  for _, path in ipairs(vim.fn.glob(vim.env.TESSERA_ROOT .. "/stdlib/*.tsr", false, true)) do
    vim.cmd("edit! " .. vim.fn.fnameescape(path))
    expect("syntax of " .. path, vim.b.current_syntax, "tessera")
    for number = 1, vim.fn.line("$") do
      vim.fn.synID(number, 1, 1)
    end
  end
end

local function test_client()
  local tessera = require("tessera")
  expect("no server", tessera.attach(0, { cmd = { "there-is-no-such-server" } }), nil)
  tessera.setup({ format_on_save = true })
  expect("autocommands", #vim.api.nvim_get_autocmds({ group = "tessera" }), 2)
end

for name, test in pairs({ syntax = test_syntax, indentation = test_indentation, format = test_format,
                          files = test_files, client = test_client }) do
  local good, problem = pcall(test)
  if not good then
    table.insert(failures, name .. ": " .. tostring(problem))
  end
end
for _, failure in ipairs(failures) do
  io.stderr:write(failure .. "\n")
end
vim.cmd(#failures == 0 and "qall!" or "cquit!")
