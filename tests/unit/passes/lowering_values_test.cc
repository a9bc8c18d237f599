// What a graph computes is what its kernels compute: random graphs, interpreted before and after
// the lowering.

#include "ir/graph/eval.h"
#include "ir/numbers/machine.h"
#include "unit/ir/text_fixture.h"
#include "unit/passes/host_runner.h"
#include "unit/passes/kernel_library_double.h"
#include "unit/passes/random_graph.h"
#include "unit/passes/tile_fixture.h"

using namespace tessera;

namespace {

struct Comparison : TextFixture {
  Module module{context, sources, "f", Level::Graph};
  std::string graph;
  std::vector<TensorValue> arguments;
  std::vector<std::vector<TensorValue>> wanted;

  void lower() {
    KernelLibraryDouble library;
    PassContext pass{diagnostics, find_machine("cpu:x86-64-v4"), &library, "f", {}};
    bool lowered = bool(graph_to_schedule(module, pass)) && bool(verify(module, diagnostics));
    INFO(graph << render_all(diagnostics, {}) << print(module, {.locations = false}));
    REQUIRE(lowered);
    std::string text = print(module, {.locations = false});
    bool tiled = bool(schedule_to_tile(module, pass)) && bool(propagate_masks(module, pass)) &&
                 bool(verify(module, diagnostics));
    INFO(render_all(diagnostics, {}) << text);
    REQUIRE(tiled);
  }

  std::vector<TensorValue> random_arguments(Op* function, const DimValues& dims, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> real(-1, 1);
    std::vector<TensorValue> tensors;
    Block* body = function->region()->front();
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      Type type = body->arg(i)->type();
      tensors.push_back(*TensorValue::make(type->dtype, *evaluate(type->dims, dims)));
      for (int64_t e = 0; e < tensors.back().count(); ++e) {
        tensors.back().set(
            e, {.f = decode_float(type->dtype, encode_float(type->dtype, real(random)))});
      }
    }
    return tensors;
  }
};

std::vector<TensorValue> copies(const std::vector<TensorValue>& tensors) {
  std::vector<TensorValue> made;
  for (const TensorValue& tensor : tensors) made.push_back(*tensor.clone());
  return made;
}

void check_graph(unsigned seed, size_t ops, const std::vector<DimValues>& sizes) {
  Comparison c;
  Op* function = RandomGraph(c.module, seed).finish(ops);
  c.graph = print(c.module, {.locations = false});
  INFO("seed " << seed << "\n" << c.graph);
  bool valid = bool(verify(c.module, c.diagnostics));
  INFO(render_all(c.diagnostics, {}));
  REQUIRE(valid);
  std::vector<std::vector<TensorValue>> arguments, wanted;
  for (const DimValues& dims : sizes) {
    arguments.push_back(c.random_arguments(function, dims, seed));
    auto results = graph::evaluate(function, copies(arguments.back()), {}, c.diagnostics);
    INFO(render_all(c.diagnostics, {}));
    REQUIRE(results);
    wanted.push_back(std::move(*results));
  }
  c.lower();
  for (size_t s = 0; s < sizes.size(); ++s) {
    HostRunner runner(sizes[s], c.diagnostics);
    std::vector<TensorValue> got = runner.run(c.module.find("f"), arguments[s]);
    REQUIRE(got.size() == wanted[s].size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].dims() == wanted[s][i].dims());
      double error = difference(got[i], wanted[s][i]);
      INFO("result " << i << " at " << s << render_all(c.diagnostics, {})
                     << print(c.module, {.locations = false}));
      CHECK(error <= 0.03);
    }
  }
}

}  // namespace

TEST_CASE("random graphs compute the same as kernels") {
  auto [first, last] = random_graph_seeds(120);
  for (unsigned seed = first; seed <= last; ++seed) {
    check_graph(seed, 3 + seed % 14,
                {{{"M", 3}, {"N", 5}}, {{"M", 1}, {"N", 70}}, {{"M", 9}, {"N", 0}}});
  }
}
