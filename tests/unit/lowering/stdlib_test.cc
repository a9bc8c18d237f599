// The library's kernels under graph ops: what the graph computes is what they compute, with views,
// casts and epilogues folded in.

#include "frontend/lower/kernel/kernel_library.h"
#include "ir/graph/eval.h"
#include "ir/numbers/machine.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/host_runner.h"
#include "unit/passes/tile_fixture.h"

using namespace tessera;

namespace {

/// Evaluates an entry @f of those arguments and body, lowers it with the standard library, runs its
/// kernels, and compares; expects that many kernels.
void check_entry(const std::string& args, const std::string& body,
                 const DimValues& dims, size_t kernels, double bound = 1e-4) {
  TextFixture f;
  std::string text = entry_module(args, body, 1);
  auto modules = parse_modules(f.context, f.sources.add("f.tir", text), f.diagnostics);
  INFO(render_all(f.diagnostics, {}));
  REQUIRE(modules);
  Module& module = *(*modules)[0];

  std::mt19937 random(11);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<TensorValue> arguments, copies;
  Block* block = module.find("f")->region()->front();
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    Type type = block->arg(i)->type();
    arguments.push_back(*TensorValue::make(type->dtype, *evaluate(type->dims, dims)));
    for (int64_t e = 0; e < arguments.back().count(); ++e) {
      Element value{.i = int64_t(random() % 9)};
      if (is_float(type->dtype))
        value.f = decode_float(type->dtype, encode_float(type->dtype, real(random)));
      arguments.back().set(e, value);
    }
    copies.push_back(*arguments.back().clone());
  }
  auto wanted = graph::evaluate(module.find("f"), std::move(copies), {}, f.diagnostics);
  REQUIRE(wanted);

  frontend::Session session(f.context, f.diagnostics, {});
  frontend::SourceKernels library(session);
  PassContext pass{f.diagnostics, find_machine("cpu:x86-64-v4"), &library, "f", {}};
  bool lowered = bool(graph_to_schedule(module, pass)) && bool(verify(module, f.diagnostics));
  std::string schedule = print(module, {.locations = false});
  INFO(render_all(f.diagnostics, {}) << schedule);
  REQUIRE(lowered);
  size_t count = 0;
  for (Op* op : *module.body()) {
    count += op->is(schedule::info(schedule::OpKind::Kernel)) &&
             !op->has(schedule::attr::Kernel::assume);
  }
  CHECK(count == kernels);
  bool tiled = bool(schedule_to_tile(module, pass)) && bool(propagate_masks(module, pass)) &&
               bool(verify(module, f.diagnostics));
  INFO(render_all(f.diagnostics, {}));
  REQUIRE(tiled);
  HostRunner runner(dims, f.diagnostics);
  std::vector<TensorValue> got = runner.run(module.find("f"), arguments);
  CHECK(difference(got[0], (*wanted)[0]) <= bound);
}

}  // namespace

TEST_CASE("a fused layer of a network is one kernel") {
  check_entry(
      "%x: tensor<B x S x 40, bf16>, %w: tensor<40 x 24, bf16>, %b: tensor<24, bf16>, %r: tensor<B "
      "x S x 24, bf16>",
      R"(
    %0: tensor<B x S x 24, f32> = gir.gemm %x, %w {accum = f32}
    %1: tensor<24, f32> = gir.cast %b
    %2: tensor<B x S x 24, f32> = gir.broadcast %1
    %3: tensor<B x S x 24, f32> = gir.add %0, %2
    %4: tensor<B x S x 24, f32> = gir.gelu %3
    %5: tensor<B x S x 24, f32> = gir.cast %r
    %6: tensor<B x S x 24, f32> = gir.add %5, %4
    %7: tensor<B x S x 24, bf16> = gir.cast %6
    gir.return [%7]
)",
      {{"B", 2}, {"S", 35}}, 1, 0.01);
}

TEST_CASE("transposed factors are read in place") {
  for (const char* flags :
       {"transpose_a = true", "transpose_b = true", "transpose_a = true, transpose_b = true"}) {
    bool a = std::string(flags).find("_a") != std::string::npos,
         b = std::string(flags).find("_b") != std::string::npos;
    check_entry(std::string("%x: ") + (a ? "tensor<K x M, f32>" : "tensor<M x K, f32>") +
                    ", %w: " + (b ? "tensor<N x K, f32>" : "tensor<K x N, f32>"),
                std::string("%0: tensor<M x N, f32> = gir.gemm %x, %w {accum = f32, ") + flags +
                    "}\ngir.return [%0]\n",
                {{"M", 70}, {"N", 33}, {"K", 50}}, 1);
  }
}

TEST_CASE("a slice of a fused projection is an operand") {
  check_entry("%x: tensor<S x 96, f32>, %w: tensor<32 x 20, f32>", R"(
    %0: tensor<S x 32, f32> = gir.slice %x {starts = [0, 32], steps = [1, 1]}
    %1: tensor<S x 20, f32> = gir.gemm %0, %w {accum = f32}
    gir.return [%1]
)",
              {{"S", 37}}, 1);
}

TEST_CASE("attention without fusion is two batched products and a softmax") {
  check_entry(
      "%q: tensor<B x H x S x 16, f32>, %k: tensor<B x H x S x 16, f32>, %v: tensor<B x H x S x "
      "16, f32>",
      R"(
    %0: tensor<B x H x S x S, f32> = gir.gemm %q, %k {accum = f32, transpose_b = true}
    %1: tensor<B x H x S x S, f32> = gir.full {value = 0.25}
    %2: tensor<B x H x S x S, f32> = gir.mul %0, %1
    %3: tensor<S x S, i32> = gir.iota {axis = 0}
    %4: tensor<S x S, i32> = gir.iota {axis = 1}
    %5: tensor<S x S, bool> = gir.ge %3, %4
    %6: tensor<B x H x S x S, bool> = gir.broadcast %5
    %7: tensor<B x H x S x S, f32> = gir.full {value = -inf}
    %8: tensor<B x H x S x S, f32> = gir.select %6, %2, %7
    %9: tensor<B x H x S x S, f32> = gir.softmax %8
    %10: tensor<B x H x S x 16, f32> = gir.gemm %9, %v {accum = f32}
    gir.return [%10]
)",
      {{"B", 2}, {"H", 3}, {"S", 19}}, 3);
}

TEST_CASE("norms take casts before and after") {
  check_entry("%x: tensor<B x S x 48, bf16>, %g: tensor<48, f32>", R"(
    %0: tensor<B x S x 48, f32> = gir.cast %x
    %1: tensor<B x S x 48, f32> = gir.rmsnorm %0, [%g] {eps = 1e-05}
    %2: tensor<B x S x 48, bf16> = gir.cast %1
    gir.return [%2]
)",
              {{"B", 3}, {"S", 5}}, 1, 0.01);
  check_entry("%x: tensor<S x N, f32>", R"(
    %0: tensor<S x N, f32> = gir.rmsnorm %x, [] {eps = 1e-05}
    gir.return [%0]
)",
              {{"S", 5}, {"N", 65}}, 1);
}

TEST_CASE("an embedding and a loss of token ids") {
  check_entry("%ids: tensor<B x S, i32>, %t: tensor<8 x 24, f32>, %p: tensor<S x 24, f32>", R"(
    %0: tensor<B x S x 24, f32> = gir.embedding %ids, %t
    %1: tensor<B x S x 24, f32> = gir.broadcast %p
    %2: tensor<B x S x 24, f32> = gir.add %0, %1
    gir.return [%2]
)",
              {{"B", 2}, {"S", 7}}, 2);
  check_entry("%x: tensor<B x S x 8, f32>, %t: tensor<B x S, i32>", R"(
    %0: tensor<B x S, f32> = gir.cross_entropy %x, %t
    %1: tensor<f32> = gir.reduce %0 {axes = [0, 1], kind = "sum"}
    gir.return [%1]
)",
              {{"B", 2}, {"S", 7}}, 2);
}
