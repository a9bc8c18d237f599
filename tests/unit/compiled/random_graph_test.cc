// What a graph computes is what its machine code computes: random graphs over symbolic dims,
// interpreted, and compiled for every machine that this host can run.
//
// How far may they be apart? Compiled code sums in another order and has its own transcendentals,
// so an intermediate value may be rounded to bf16 the other way, and what is computed from that
// differs by as much as the graph magnifies it. The interpreter tells how much that is: with every
// float a double that no cast rounds, it gives the mathematics, and the distance of its exact mode
// from that is what rounding does to this graph. The bound for a result is 1e-5 of its largest
// element (at least of 1) and four times that distance. A value that flips between two roundings
// was half a step away from the mathematics and comes out a whole step off, hence not less than
// two.

#include "ir/core/common_attributes.h"
#include "unit/passes/random_graph.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "codegen/ptx/emit_ptx.h"
#include "ir/core/dim_facts.h"
#include "ir/graph/eval.h"
#include "ir/host/ops.h"
#include "unit/compiled/compiled_program.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;

namespace {

using DimValues = test::CompiledProgram::DimValues;
using Tensors = test::CompiledProgram::Tensors;

/// What an entry gives for some arguments, and how far each result may be from it.
struct Sample {
  DimValues dims;
  Tensors arguments, wanted;
  std::vector<double> bounds;
};

std::vector<int64_t> extents_of(Type type, const DimValues& dims) {
  std::vector<int64_t> extents;
  for (Dim dim : type->dims) {
    extents.push_back(*evaluate(
        dim, [&](std::string_view name) { return std::optional(dims.find(name)->second); }));
  }
  return extents;
}

/// Elements of all values together.
int64_t work(Op* function, const DimValues& dims) {
  int64_t elements = 0;
  walk(function, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) {
      elements += *count_elements(extents_of(op->result(i)->type(), dims));
    }
  });
  return elements;
}

Tensors random_arguments(Op* function, const DimValues& dims, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  Tensors tensors;
  Block* body = function->region()->front();
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    tensors.push_back(*TensorValue::make(type->dtype, extents_of(type, dims)));
    for (int64_t e = 0; e < tensors.back().count(); ++e) {
      tensors.back().set(e,
                         {.f = decode_float(type->dtype, encode_float(type->dtype, real(random)))});
    }
  }
  return tensors;
}

Tensors evaluated(Op* function, const Tensors& arguments, graph::EvalMode mode,
                  DiagnosticEngine& diagnostics) {
  Tensors copies;
  for (const TensorValue& tensor : arguments) copies.push_back(*tensor.clone());
  auto results = graph::evaluate(function, std::move(copies), {.mode = mode}, diagnostics);
  INFO(render_all(diagnostics, {}));
  REQUIRE(results);
  return std::move(*results);
}

/// The largest distance of two elements; infinite where one is NaN alone.
double distance(const TensorValue& a, const TensorValue& b) {
  double most = 0;
  for (int64_t e = 0; e < a.count(); ++e) {
    double x = a.get(e).f, y = b.get(e).f;
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double apart = std::fabs(x - y);
    most = std::isnan(apart) ? INFINITY : std::max(most, apart);
  }
  return most;
}

double largest(const TensorValue& a) {
  double most = 1;
  for (int64_t e = 0; e < a.count(); ++e) {
    double x = std::fabs(a.get(e).f);
    if (std::isfinite(x)) most = std::max(most, x);
  }
  return most;
}

Sample sample(Op* function, const DimValues& dims, unsigned seed, DiagnosticEngine& diagnostics) {
  Sample s{dims, random_arguments(function, dims, seed), {}, {}};
  s.wanted = evaluated(function, s.arguments, graph::EvalMode::Exact, diagnostics);
  Tensors reference = evaluated(function, s.arguments, graph::EvalMode::F64, diagnostics);
  for (size_t i = 0; i < s.wanted.size(); ++i) {
    s.bounds.push_back(1e-5 * largest(s.wanted[i]) + 4 * distance(s.wanted[i], reference[i]));
  }
  return s;
}

void compare(const Tensors& got, const Sample& s, const char* way) {
  REQUIRE(got.size() == s.wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO(way << ": result " << i);
    REQUIRE(got[i].dims() == s.wanted[i].dims());
    CHECK(distance(got[i], s.wanted[i]) <= s.bounds[i]);
  }
}

/// Compiles the graph for each machine and runs it on each sample, kernel by kernel and as a
/// bundle.
void check_compiled(const std::string& graph, const std::vector<Sample>& samples) {
  for (const Machine* machine : test::runnable_machines()) {
    INFO(machine->name);
    test::CompiledProgram program(graph, *machine);
    INFO(program.messages());
    REQUIRE(program.messages().empty());
    for (const Sample& s : samples) {
      INFO("M = " << s.dims.at("M") << ", N = " << s.dims.at("N"));
      compare(program.launch(s.arguments, s.dims), s, "kernels");
      compare(program.call(s.arguments, s.wanted), s, "bundle");
    }
  }
}

/// Whether the guards of the program's entry let a call of that size pass.
bool passes_guards(Module& module, const DimValues& dims) {
  for (Op* function : *module.body()) {
    if (!function->is(host::info(host::OpKind::Func))) continue;
    for (const DimFact& fact : read_facts(function->attr(common::Entry::guards))) {
      if (!holds(*evaluate(fact.left, dims), fact.relation, *evaluate(fact.right, dims))) return false;
    }
  }
  return true;
}

/// Lowers the graph for each kind of GPU and has the interpreter run its last tiles. No program is refused, but calls
/// of sizes that would need scratch memory are.
void check_tiles(const std::string& graph, const std::vector<Sample>& samples) {
  for (std::string_view machine : test::gpu_machines) {
    INFO(machine);
    test::GpuProgram program(graph, machine);
    while (program.next()->name != "tile_to_nv") program.step();
    for (const Sample& s : samples) {
      INFO("M = " << s.dims.at("M") << ", N = " << s.dims.at("N"));
      if (!passes_guards(program.module(), s.dims)) continue;
      compare(program.values(s.arguments, s.dims, {.workers = 2, .seed = 1}), s, "tiles");
    }
    program.finish();
    Module* modules[] = {&program.module()};
    CHECK(codegen::emit_ptx(modules, program.machine(), program.diagnostics()));
  }
}

using Check = void (*)(const std::string& graph, const std::vector<Sample>& samples);

/// Nothing, one, less than a register, some registers and a rest, more than a block.
constexpr int64_t extents[] = {0, 1, 7, 41, 129};

void check_random_graph(unsigned seed, size_t ops, int64_t most_work, Check check) {
  TextFixture text;
  Module module(text.context, text.sources, "f", Level::Graph);
  Op* function = RandomGraph(module, seed).finish(ops);
  std::string graph = print(module, {.locations = false});
  INFO("seed " << seed << "\n" << graph);
  bool valid = bool(verify(module, text.diagnostics));
  INFO(render_all(text.diagnostics, {}));
  REQUIRE(valid);
  std::vector<Sample> samples;
  for (unsigned i = 0; i < 25 && samples.size() < 4; ++i) {
    unsigned at = (seed + 7 * i) % 25;
    DimValues dims{{"M", extents[at % 5]}, {"N", extents[at / 5]}};
    if (work(function, dims) > most_work) continue;
    samples.push_back(sample(function, dims, seed, text.diagnostics));
  }
  check(graph, samples);
}

/// A graph of ops on %x: tensor<M x N, f32>, %y: tensor<N x M, bf16> and %w: tensor<2 x M x 6,
/// f32>.
struct Graph : TextFixture {
  explicit Graph(const std::string& body, size_t results = 1) {
    text =
        "module @f level(graph) version(1) {\ngir.func @f(%x: tensor<M x N, f32>, %y: tensor<N x "
        "M, "
        "bf16>, %w: tensor<2 x M x 6, f32>) {args = [{kind = \"input\", name = \"x\"}, {kind = "
        "\"input\", name = \"y\"}, {kind = \"input\", name = \"w\"}], results = [";
    for (size_t i = 0; i < results; ++i) {
      text += (i ? ", {name = \"r" : "{name = \"r") + std::to_string(i) + "\"}";
    }
    text += "], role = \"entry\"} {\n" + body + "}\n}\n";
    modules = parse_modules(context, sources.add("f.tir", text), diagnostics);
    INFO(text << render_all(diagnostics, {}));
    REQUIRE(modules);
  }
  Op* function() { return (*modules)[0]->find("f"); }

  std::string text;
  Result<std::vector<std::unique_ptr<Module>>> modules = failure;
};

/// Compares for all extents of M and N.
void check_graph(const std::string& body, size_t results = 1) {
  Graph graph(body, results);
  INFO(graph.text);
  std::vector<Sample> samples;
  for (int64_t m : extents) {
    for (int64_t n : extents) {
      samples.push_back(sample(graph.function(), {{"M", m}, {"N", n}}, 3, graph.diagnostics));
    }
  }
  check_compiled(graph.text, samples);
}

}  // namespace

TEST_CASE("random graphs compute the same as machine code") {
  auto [first, last] = random_graph_seeds(90);
  for (unsigned seed = first; seed <= last; ++seed) {
    check_random_graph(seed, 3 + seed % 14, 300000, check_compiled);
  }
}

TEST_CASE("random graphs compute the same as tiles of GPUs") {
  auto [first, last] = random_graph_seeds(30);
  for (unsigned seed = first; seed <= last; ++seed) {
    check_random_graph(seed, 3 + seed % 14, 20000, check_tiles);
  }
}

TEST_CASE("a partial sum beside the columns of fragments has its own scratch memory") {
  // Two axes are combined one after the other, on both sides of the one that stays.
  check_graph(R"(
    %0: tensor<M, f32> = gir.reduce %w {axes = [0, 2], keep = false, kind = "sum"}
    gir.return [%0]
)");
  check_graph(R"(
    %0: tensor<2 x 1 x 6, f32> = gir.reduce %w {axes = [1], keep = true, kind = "max"}
    %1: tensor<2 x M x 6, f32> = gir.broadcast %0
    %2: tensor<2 x M x 6, f32> = gir.sub %w, %1
    %3: tensor<2 x M x 6, f32> = gir.exp %2
    %4: tensor<2 x 1 x 6, f32> = gir.reduce %3 {axes = [1], keep = true, kind = "sum"}
    %5: tensor<2 x M x 6, f32> = gir.broadcast %4
    %6: tensor<2 x M x 6, f32> = gir.div %3, %5
    %7: tensor<1 x M x 6, f32> = gir.reduce %6 {axes = [0], keep = true, kind = "max"}
    %8: tensor<2 x M x 6, f32> = gir.broadcast %7
    %9: tensor<2 x M x 6, f32> = gir.sub %6, %8
    gir.return [%9]
)");
}

TEST_CASE("a product is summed in the dtype that it says") {
  // The sum is rounded every 64 along k, and nowhere else.
  for (const char* text : {"bf16", "f16"}) {
    std::string type = text;
    check_graph("%0: tensor<M x N, " + type + "> = gir.cast %x\n%1: tensor<N x M, " + type +
                "> = gir.cast %y\n%2: tensor<M x M, " + type +
                "> = gir.gemm %0, %1 {accum = " + type + "}\ngir.return [%2]\n");
  }
  check_graph(R"(
    %0: tensor<2 x M x 6, bf16> = gir.cast %w
    %1: tensor<2 x 6 x 6, bf16> = gir.gemm %0, %0 {accum = bf16, transpose_a = true}
    gir.return [%1]
)");
  check_graph(R"(
    %0: tensor<N x M, f32> = gir.cast %y
    %1: tensor<M x M, f64> = gir.gemm %x, %0 {accum = f64}
    gir.return [%1]
)");
}

TEST_CASE("a sum of 16 bits is rounded every 64 elements") {
  // Products of small integers are exact in any order: what is left are the roundings, bit for bit.
  for (const char* text : {"bf16", "f16"}) {
    std::string type = text, operands = "%0: tensor<M x N, " + type +
                                        "> = gir.cast %x\n%1: tensor<N x M, " + type +
                                        "> = gir.cast %y\n";
    Graph rounded(operands + "%2: tensor<M x M, " + type + "> = gir.gemm %0, %1 {accum = " + type +
                  "}\ngir.return [%2]\n");
    Graph once(operands +
               "%2: tensor<M x M, f32> = gir.gemm %0, %1 {accum = f32}\n%3: tensor<M x M, " + type +
               "> = gir.cast %2\ngir.return [%3]\n");
    std::vector<Sample> samples;
    for (int64_t n : {1, 63, 64, 65, 128, 200, 1000}) {
      Sample s{{{"M", 9}, {"N", n}}, {}, {}, {0}};
      s.arguments = random_arguments(rounded.function(), s.dims, 3);
      for (TensorValue& tensor : s.arguments) {
        for (int64_t e = 0; e < tensor.count(); ++e) {
          tensor.set(e, {.f = std::round(9 * std::fabs(tensor.get(e).f))});
        }
      }
      s.wanted =
          evaluated(rounded.function(), s.arguments, graph::EvalMode::Exact, rounded.diagnostics);
      Tensors other =
          evaluated(once.function(), s.arguments, graph::EvalMode::Exact, once.diagnostics);
      bool differs = distance(s.wanted[0], other[0]) > 0;
      CHECK((n > 64 || !differs));
      CHECK((n < 1000 || differs));
      samples.push_back(std::move(s));
    }
    check_compiled(rounded.text, samples);
  }
}
