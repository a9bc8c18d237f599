// The language's founding examples: kept byte for byte, and parsed after a few listed replacements
// where they are notation and not source.

#include <catch2/catch.hpp>
#include <sstream>

#include "support/file.h"
#include "unit/frontend_syntax/helpers.h"

using namespace tessera;
using namespace tessera::test;

namespace {

std::string read(const std::string& name) {
  std::string text;
  std::string error;
  REQUIRE(read_file(TESSERA_SOURCE_DIR "/tests/seeds/" + name, text, error));
  return text;
}

struct Replacement {
  std::string from;
  std::string to;
};

struct Seed {
  std::string name;
  std::vector<Replacement> replacements;
  /// Part of the tree: the example means what it says.
  std::string holds;
};

const std::vector<Seed> seeds = {
    {"01_flash_attention_graph.txt", {}, "(@ tessera.kernel)"},
    {"02_transformer_block.txt", {}, "(@ jit)\n  (@ autodiff)"},
    {"03_flash_attention_kernel.txt", {}, "([] l (slice _ _ _) None)"},
    {"04_attention_score.txt", {{"python", ""}}, "(. k T)"},
    {"05_schedule_inheritance.txt",
     {{"python", ""}, {"(...):", "(x: Tensor[M, bf16]):"}, {"(...):", "(x: Tensor[M, bf16]):"}},
     "(call (. base_schedule with_block) 64 64)"},
    {"06_stdlib_import.txt",
     {{"python", ""}},
     "(from-import tessera.stdlib flash_attention_2 efficient_layernorm stable_softmax fused_adam "
     "rotary_embedding)"},
    {"07_schedule_chain_a.txt", {{"•\t", "s = "}}, "swizzle) \"xor\")"},
    {"08_schedule_chain_b.txt",
     {{".block", "s = b.block"},
      {"- @", "@"},
      {"space=…", "space=dict(BM=[64])"},
      {"\"…\")", "\"~/.sched\")\ndef f(): ..."}},
     "(= cache \"~/.sched\")"},
    {"09_types_policies.txt",
     {{"- Tensor[Dims…, DType @policy…] where policies include:\n",
       "x: Tensor[B, D, bf16 @accum(f32)\n"},
      {"@accum(f32|bf16), @stochastic_round, @loss_scale(k), @saturate.",
       "@accum(f32|bf16) @stochastic_round @loss_scale(k) @saturate]"},
      {"- Supported dtypes: fp32, tf32, bf16, fp16, fp8(e4m3|e5m2), int8/4 (+ per-channel scales).",
       "dtypes = fp32, tf32, bf16, fp16, fp8(e4m3|e5m2), int8"},
      {"- Safe primitives: softmax_safe, layernorm_safe, rmsnorm_safe, logsumexp_safe.",
       "safe = softmax_safe, layernorm_safe, rmsnorm_safe, logsumexp_safe"},
      {"- Casting rules are typed (e.g., fp8 matmul → fp32 accumulate → policy cast).", ""}},
     "(@ (@ (@ (@ (@ bf16 (call accum f32)) (call accum (| f32 bf16))) stochastic_round) "
     "(call loss_scale k)) saturate)"},
    {"10_state_objects.txt",
     {{"- KVCache", "a: KVCache"},
      {"- Opt", "b: Opt"},
      {"- State ops are effects (append, prune, offload, prefetch).",
       "effects = append, prune, offload, prefetch"}},
     "(@ (@ ([] KVCache \"B\" \"H\" \"S_max\" \"D_h\" dtype) rolling_window) (call device gpu))"},
    {"11_placement.txt",
     {{"- with", "with"},
      {": Declarative, inspectable data movement (maps to DMA/TMA, double-buffering).", ": pass"},
      {"- on", "on"},
      {" / with mesh(..., layout=...) sets placement & sharding.",
       "\nwith mesh(devs, layout=l): pass"}},
     "(on (call mesh devs))"},
    {"12_parallelism.txt",
     {{"- map, reduce, scan, all_gather, all_reduce, all_to_all, pipeline.",
       "map, reduce, scan, all_gather, all_reduce, all_to_all, pipeline"},
      {"- pmap(fn, donate={...}) and vmap, scan are composable transforms.",
       "pmap(fn, donate={\"x\"}); vmap, scan"},
      {"- Mesh layouts: {", "layouts = {"},
      {"}.", "}"}},
     "(dict (: \"batch\" \"replicate\") (: \"seq\" \"shard\") (: \"params\" \"replicate\"))"},
    {"13_mesh_shard.txt",
     {{"•\tDistributed by construction: data/tensor/pipeline/expert parallel expressed "
       "declaratively (",
       ""},
      {"W{\"d_model\"})).", "W[\"d_model\"]): pass"},
      {"•\tComposability: function transforms (", "transforms = ("},
      {"alpa_shard).", "alpa_shard)"}},
     "(call (. (call mesh devs) shard) ([] W \"d_model\"))"},
};

}  // namespace

TEST_CASE("the examples parse") {
  for (const Seed& seed : seeds) {
    INFO(seed.name);
    std::string text = read(seed.name);
    for (const Replacement& replacement : seed.replacements) {
      size_t at = text.find(replacement.from);
      REQUIRE(at != std::string::npos);
      text.replace(at, replacement.from.size(), replacement.to);
    }
    Parsed parsed = parse(text);
    CHECK(parsed.messages == "");
    CHECK(parsed.tree.find(seed.holds) != std::string::npos);
  }
}

TEST_CASE("every example has its hash in the index") {
  std::istringstream index(read("INDEX"));
  std::string hash;
  std::string name;
  size_t count = 0;
  while (index >> hash >> name) {
    CHECK(hash.size() == 64);
    read(name);
    ++count;
  }
  CHECK(count == 25);
}
