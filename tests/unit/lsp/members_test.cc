// Members behind a dot, and hovers where the text alone does not suffice.

#include <catch2/catch.hpp>

#include "unit/lsp/client.h"

using lsp_test::Client;
using lsp_test::Json;

namespace {

using Strings = std::vector<std::string>;

const std::string members_uri = "file:///members/a.tsr";

const std::string program =
    "base = Schedule(block=(8, 8), warps=8)\n"
    "\n"
    "@kernel.schedule(base.with_block(4, 8))\n"
    "def twice(x: Tensor[M, N, T], *, by: float = 2.0) -> Tensor[M, N, T]:\n"
    "    t = tile.context(m=M, n=N)\n"
    "    v = tile.load(x, (t.i, t.j), (t.m, t.n))\n"
    "    return tile.cast(tile.max(v, axis=1)[:, None] * v * by, T)\n"
    "\n"
    "wide = twice.with_schedule(base.with_stages(2))\n"
    "\n"
    "module Block(D: dim):\n"
    "    w: Param[D, D, f32] = normal(0.02)\n"
    "\n"
    "    def mixed(self, x: Tensor[B, D, f32]) -> Tensor[B, D, f32]:\n"
    "        return x @ self.w\n"
    "\n"
    "    def __call__(self, x: Tensor[B, D, f32], *, by: float = 2.0):\n"
    "        return self.mixed(x) * by\n"
    "\n"
    "module Net(D: dim):\n"
    "    blocks: [Block(D)] * 2\n"
    "\n"
    "    def __call__(self, x: Tensor[B, D, f32], cache: KVCache):\n"
    "        for i, block in enumerate(self.blocks):\n"
    "            x = block(x, by=2.0) + wide(x).T.T + self.blocks[0].mixed(x).T.T\n"
    "        return x, cache.append(cache.K, cache.V)\n"
    "\n"
    "net = Net(8)\n"
    "param p: Param[8, f32] = zeros()\n"
    "\n"
    "@jit\n"
    "def scaled(x: Tensor[4, 8, f32], state: OptimizerState[p] @fp32_master):\n"
    "    return rmsnorm(twice(x), eps=1e-5), state.step\n";

Strings labels(Client& client, const std::string& text, size_t into) {
  Strings list;
  Json found = client.request("textDocument/completion", client.at(members_uri, text, into));
  for (const Json& item : found["items"]) list.push_back(item["label"]);
  return list;
}

}  // namespace

TEST_CASE("members are those of what stands before the dot") {
  Client client;
  client.open(members_uri, program);
  using Catch::VectorContains;
  Strings block = {"w", "mixed", "__call__", "D"};
  CHECK(labels(client, "self.mixed(x) * by", 5) == block);
  client.replace(members_uri, "x = block(x, by=2.0)", "x = block.");
  CHECK(labels(client, "x = block.", 10) == block);
  client.replace(members_uri, "x = block.", "x = self.blocks[i].");
  CHECK(labels(client, "x = self.blocks[i].", 19) == block);
  client.replace(members_uri, "x = self.blocks[i].", "x = block(x, by=2.0)");
  CHECK(labels(client, "self.mixed(x) * by", 5) == block);
  CHECK(labels(client, "twice.with_schedule", 6) == Strings{"with_schedule"});
  CHECK(labels(client, "wide(x).T", 8) == Strings{"shape", "dtype", "T"});
  CHECK(labels(client, "mixed(x).T", 9) == Strings{"shape", "dtype", "T"});
  CHECK(labels(client, "t.i, t.j", 2) == Strings{"i", "j", "h", "m", "n"});
  CHECK_THAT(labels(client, "base.with_block", 5), VectorContains(std::string("with_stages")));
  CHECK_THAT(labels(client, "base.with_block", 5), !VectorContains(std::string("shape")));
  CHECK_THAT(labels(client, "cache.append", 6), VectorContains(std::string("prune")));
  CHECK_THAT(labels(client, "state.step", 6), VectorContains(std::string("master")));
  CHECK_THAT(labels(client, "state.step", 6), !VectorContains(std::string("append")));
}

TEST_CASE("members of modules are those that the evaluation finds, by whatever import") {
  using Catch::VectorContains;
  Client client;
  client.open("file:///members/pack/one.tsr", "const ONE = 1\n");
  client.open("file:///members/pack/deep/two.tsr", "const TWO = 2\nfrom tessera import nn\n");
  const std::string text =
      "from tessera import nn, tile as tl\n"
      "import pack.one, pack.deep.two\n"
      "from pack.deep.two import nn as layers\n"
      "const A = nn.gelu\nconst B = tl.load\nconst C = pack.one.ONE\nconst D = pack.deep.two.TWO\n"
      "const E = layers.silu\nconst F = tessera.exp(0)\n";
  client.open(members_uri, text);
  CHECK_THAT(labels(client, "nn.gelu", 3), VectorContains(std::string("layernorm")));
  CHECK_THAT(labels(client, "layers.silu", 7), VectorContains(std::string("layernorm")));
  CHECK_THAT(labels(client, "tl.load", 3), VectorContains(std::string("context")));
  CHECK_THAT(labels(client, "tl.load", 3), !VectorContains(std::string("embedding")));
  CHECK_THAT(labels(client, "tessera.exp", 8), VectorContains(std::string("exp")));
  CHECK(labels(client, "pack.one.ONE", 5) == Strings{"deep", "one"});
  CHECK(labels(client, "pack.one.ONE", 9) == Strings{"ONE"});
  CHECK(labels(client, "pack.deep.two.TWO", 10) == Strings{"two"});
  CHECK(labels(client, "pack.deep.two.TWO", 14) == Strings{"TWO", "nn"});
}

TEST_CASE("arguments are those of what is called, and types have no functions in them") {
  Client client;
  client.open(members_uri, program);
  using Catch::VectorContains;
  CHECK_THAT(labels(client, "block(x, by=2.0)", 9), VectorContains(std::string("by=")));
  CHECK_THAT(labels(client, "wide(x).T", 5), VectorContains(std::string("x=")));
  CHECK_THAT(labels(client, "Schedule(block=", 9), VectorContains(std::string("stages=")));
  Strings types = labels(client, "Tensor[B, D, f32]) ->", 10);
  for (std::string name : {"B", "D", "f32", "bf16"}) CHECK_THAT(types, VectorContains(name));
  for (std::string name : {"self", "x", "twice", "net", "gelu", "float32"}) CHECK_THAT(types, !VectorContains(name));
}

TEST_CASE("hovers of arguments, schedules and words of types") {
  Client client;
  client.open(members_uri, program);
  client.wait_until_idle();
  auto text = [&](const std::string& name, size_t into = 0) {
    Json found = client.request("textDocument/hover", client.at(members_uri, name, into));
    return found.is_null() ? std::string() : found["contents"]["value"].get<std::string>();
  };
  using Catch::Contains;
  CHECK_THAT(text("eps=1e-5"), Contains("eps=1e-6") && Contains("*argument* of `rmsnorm`"));
  CHECK_THAT(text("axis=1"), Contains("*argument* of `max`"));
  CHECK_THAT(text("m=M, n=N"), Contains("**axes"));
  CHECK_THAT(text("by=2.0"), Contains("by: float = 2.0") && Contains("parameter"));
  CHECK_THAT(text("block=(8"), Contains("tile along each axis"));
  CHECK_THAT(text("with_stages"), Contains("loads in flight"));
  CHECK_THAT(text("by: float", 4), Contains("compile-time number"));
  CHECK_THAT(text("t.m, t.n", 2), Contains("here: "));
  CHECK_THAT(text("mixed(x) * by"), Contains("def mixed(x: Tensor[B, D, f32])"));
}
