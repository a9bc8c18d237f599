// Every graph op is read back as printed in a correct form, and refused with its reason in wrong
// ones.

#include <set>

#include "unit/ir/graph_fixture.h"

using namespace tessera;
using namespace tessera::graph;

namespace {

using Texts = std::vector<std::string>;

struct Accepted {
  Texts parameters;
  std::string statement;  ///< defines %r, or several: the last line does
};

struct Refused {
  Texts parameters;
  std::string statement;
  std::string reason;  ///< part of the message
};

std::string body_of(const std::string& statement) {
  return statement + "\ngir.return [%r]";
}

const std::vector<Accepted>& accepted() {
  static const std::vector<Accepted> cases = {
      {{}, "%r: tensor<B x 4, f32> = gir.full {value = 1.5}"},
      {{}, "%r: tensor<3, i8> = gir.full {value = -128}"},
      {{}, "%r: tensor<bool> = gir.full {value = 1.0}"},
      {{}, "%r: tensor<2 x 2, f32> = gir.constant {values = [1.0, -inf, nan, 2]}"},
      {{}, "%r: tensor<2, bool> = gir.constant {values = [true, 0]}"},
      {{}, "%r: tensor<0 x 7, u8> = gir.constant {values = []}"},
      {{}, "%r: tensor<1, u64> = gir.constant {values = [-1]}"},
      {{}, "%r: tensor<B x S, i64> = gir.iota {axis = 1}"},
      {{}, "%r: tensor<i64> = gir.dim {value = <B*S>}"},
      {{"%a: tensor<1 x D, f32>"}, "%r: tensor<B x S x D, f32> = gir.broadcast %a"},
      {{"%a: tensor<f32>"}, "%r: tensor<B, f32> = gir.broadcast %a"},
      {{"%a: tensor<B x S x 6, f32>"}, "%r: tensor<2*B x S x 3, f32> = gir.reshape %a"},
      {{"%a: tensor<1, f32>"}, "%r: tensor<f32> = gir.reshape %a"},
      {{"%a: tensor<A x B x C, f32>"},
       "%r: tensor<C x A x B, f32> = gir.transpose %a {perm = [2, 0, 1]}"},
      {{"%a: tensor<S x 8, f32>"},
       "%r: tensor<S - 1 x 4, f32> = gir.slice %a {starts = [1, 0], steps = [1, 2]}"},
      {{"%a: tensor<S, f32>"},
       "%r: tensor<2, f32> = gir.slice %a {starts = [<S - 2>], steps = [1]}"},
      {{"%a: tensor<S x 9, f32>"},
       "%r: tensor<S x 3 x 4, f32> = gir.windows %a {axis = 1, dilation = 2, step = 1}"},
      {{"%a: tensor<S x 9, f32>"},
       "%r: tensor<S - 1 x 9 x 2, f32> = gir.windows %a {axis = 0, dilation = 1, step = 1}"},
      {{"%a: tensor<A x 4, f32>", "%b: tensor<B x 4, f32>"},
       "%r: tensor<A + B x 4, f32> = gir.concat [%a, %b] {axis = 0}"},
      {{"%a: tensor<A x B x 4, f32>"},
       R"(%r: tensor<B, f32> = gir.reduce %a {axes = [0, 2], kind = "sum"})"},
      {{"%a: tensor<A x B, i32>"},
       R"(%r: tensor<A x 1, i32> = gir.reduce %a {axes = [1], keep = true, kind = "max"})"},
      {{"%q: tensor<B x 6 x S x 64, bf16>", "%k: tensor<B x 2 x T x 64, bf16>",
        "%v: tensor<B x 2 x T x E, bf16>"},
       "%r: tensor<B x 6 x S x E, f32>, %l: tensor<B x 6 x S, f32> = gir.flash_attention %q, %k, "
       "%v, [], [], [] {causal = true, window = 8}"},
      {{"%q: tensor<1 x 2*G x S x D, f64>", "%k: tensor<1 x G x T x D, f64>",
        "%b: tensor<1 x 2*G x S x T, f32>", "%n: tensor<i64>", "%s: tensor<u64>"},
       "%r: tensor<1 x 2*G x S x D, f64> = gir.flash_attention %q, %k, %k, [%b], [%n], [%s] "
       "{dropout = 0.5, scale = 2.0, stream = 3}"},
      {{"%a: tensor<B x M x K, bf16>", "%b: tensor<K x N, bf16>"},
       "%r: tensor<B x M x N, f32> = gir.gemm %a, %b {accum = f32}"},
      {{"%a: tensor<B x K x M, i8>", "%b: tensor<B x N x K, i8>"},
       "%r: tensor<B x M x N, i32> = gir.gemm %a, %b {accum = i32, transpose_a = true, transpose_b "
       "= true}"},
      {{"%a: tensor<B x V, bf16>"}, "%r: tensor<B x V, bf16> = gir.softmax %a"},
      {{"%a: tensor<B x D, f32>"}, "%r: tensor<B x D, f32> = gir.rmsnorm %a, [] {eps = 1e-05}"},
      {{"%a: tensor<B x D, f32>", "%s: tensor<D, f32>"},
       "%r: tensor<B x D, f32> = gir.rmsnorm %a, [%s] {eps = 1e-05}"},
      {{"%i: tensor<B x S, i32>", "%t: tensor<V x D, bf16>"},
       "%r: tensor<B x S x D, bf16> = gir.embedding %i, %t"},
      {{"%l: tensor<B x V, f32>", "%t: tensor<B, i64>"},
       "%r: tensor<B, f32> = gir.cross_entropy %l, %t"},
      {{"%b: tensor<4 x D, f32>", "%u: tensor<2 x D, f32>", "%s: tensor<i64>"},
       "%r: tensor<4 x D, f32> = gir.update_slice %b, %u, %s {axis = 0, wrap = true}"},
      {{"%a: tensor<B, f32>", "%b: tensor<i32>"}, "%r: tensor<B, f32> = gir.barrier %a, [%b, %a]"},
      {{"%s: tensor<u64>"}, "%r: tensor<B x 3, f32> = gir.philox_uniform %s {stream = 7}"},
      {{"%s: tensor<u64>"}, "%r: tensor<B x 3, f32> = gir.philox_normal %s {stream = -7}"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a] {arguments = {n = 2}, kernel = @mine}"},
      {{"%a: tensor<B, f32>"}, "%r: tensor<B, f32> = gir.kernel_call [%a, %a] {kernel = @mine, parameters = [0, 3]}"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a] {kernel = @mine, sizes = {B = <B>, W = 2}}"},
      {{"%a: tensor<B x 4, bf16 accum(f32)>"}, "%r: tensor<B x 4, f32> = gir.cast %a"},
      {{"%a: tensor<B, f32>"}, "%r: tensor<B, i32> = gir.bits %a"},
  };
  return cases;
}

const std::vector<Refused>& refused() {
  static const std::vector<Refused> cases = {
      {{}, "%r: tensor<3, u8> = gir.full {value = 256}", "'256' is not a value of u8"},
      {{}, "%r: tensor<3, i32> = gir.full {value = 0.5}", "'0.5' is not a value of i32"},
      {{}, "%r: tensor<3, i32> = gir.full {value = nan}", "'nan' is not a value of i32"},
      {{}, "%r: tensor<bool> = gir.full {value = 2}", "'2' is not a value of bool"},
      {{},
       "%r: tensor<2, f32> = gir.constant {values = [1.0]}",
       "1 elements do not make a tensor<2, f32>"},
      {{},
       "%r: tensor<B, f32> = gir.constant {values = [1.0]}",
       "its dims must be numbers, not [B]"},
      {{}, "%r: tensor<1, i8> = gir.constant {values = [1.0]}", "'1.0' is not a value of i8"},
      {{}, "%r: tensor<1, i4> = gir.constant {values = [8]}", "'8' is not a value of i4"},
      {{}, "%r: tensor<1, f32> = gir.constant {values = [true]}", "'true' is not a number"},
      {{}, "%r: tensor<B, i64> = gir.iota {axis = 1}", "axis 1 is outside 0 to 0"},
      {{}, "%r: tensor<B, f32> = gir.iota {axis = 0}", "coordinates are integers, not f32"},
      {{}, "%r: tensor<i32> = gir.dim {value = <B>}", "the result has dtype i32, not i64"},
      {{}, "%r: tensor<1, i64> = gir.dim {value = <B>}", "the result has dims [1], not []"},
      {{"%a: tensor<D, f32>"}, "%r: tensor<B, f32> = gir.broadcast %a", "D does not repeat to B"},
      {{"%a: tensor<1 x 1, f32>"}, "%r: tensor<B, f32> = gir.broadcast %a", "rank 2 is more than"},
      {{"%a: tensor<1, f32>"}, "%r: tensor<B, bf16> = gir.broadcast %a", "has dtype bf16, not f32"},
      {{"%a: tensor<B x 6, f32>"},
       "%r: tensor<B x 7, f32> = gir.reshape %a",
       "6*B elements do not make 7*B"},
      {{"%a: tensor<4611686018427387904 x 4, f32>"},
       "%r: tensor<1, f32> = gir.reshape %a",
       "overflows"},
      {{"%a: tensor<A x B, f32>"},
       "%r: tensor<A x B, f32> = gir.transpose %a {perm = [0, 0]}",
       "each axis"},
      {{"%a: tensor<A x B, f32>"},
       "%r: tensor<A x B, f32> = gir.transpose %a {perm = [1, 0]}",
       "not [B, A]"},
      {{"%a: tensor<A, f32>"},
       "%r: tensor<A, f32> = gir.transpose %a {perm = [\"x\"]}",
       "each of 'perm' must be an integer"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<5, f32> = gir.slice %a {starts = [4], steps = [1]}",
       "element 8"},
      {{"%a: tensor<S, f32>"},
       "%r: tensor<(S + 1), f32> = gir.slice %a {starts = [0], steps = [1]}",
       "element S along axis 0 is outside an extent of S"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<2, f32> = gir.slice %a {starts = [-1], steps = [1]}",
       "below 0"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<2, f32> = gir.slice %a {starts = [1], steps = [0]}",
       "positive"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<2, f32> = gir.slice %a {starts = [1, 1], steps = [1]}",
       "1 each"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<2, f32> = gir.slice %a {starts = [1], steps = [1.0]}",
       "each of 'steps' must be an integer, not 1.0"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<4 x 3, f32> = gir.windows %a {axis = 0, dilation = 1, step = 2}",
       "element 8 along axis 0 is outside an extent of 8"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<4 x 3, f32> = gir.windows %a {axis = 1, dilation = 1, step = 1}",
       "axis 1 is outside"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<4 x 3, f32> = gir.windows %a {axis = 0, dilation = 0, step = 1}",
       "positive"},
      {{"%a: tensor<A x 8, f32>"},
       "%r: tensor<4 x 4 x 3, f32> = gir.windows %a {axis = 1, dilation = 1, step = 1}",
       "by windows along axis 1"},
      {{}, "%r: tensor<8, f32> = gir.concat [] {axis = 0}", "it needs a part"},
      {{"%a: tensor<8, f32>"},
       "%r: tensor<8, f32> = gir.concat [%a] {axis = 1}",
       "axis 1 is outside 0 to 0"},
      {{"%a: tensor<A x 4, f32>", "%b: tensor<B x 5, f32>"},
       "%r: tensor<A + B x 4, f32> = gir.concat [%a, %b] {axis = 0}",
       "part 1 is tensor<B x 5, f32>"},
      {{"%a: tensor<A, f32>"}, "%r: tensor<A, f32> = gir.concat [%a, %a] {axis = 0}", "not [2*A]"},
      {{"%a: tensor<A, f32>"},
       R"(%r: tensor<f32> = gir.reduce %a {axes = [0], kind = "mean"})",
       "\"mean\""},
      {{"%a: tensor<A, f32>"},
       R"(%r: tensor<f32> = gir.reduce %a {axes = [1], kind = "sum"})",
       "sorted"},
      {{"%a: tensor<A x B, f32>"},
       R"(%r: tensor<f32> = gir.reduce %a {axes = [1, 0], kind = "sum"})",
       "sorted"},
      {{"%a: tensor<A, bool>"},
       R"(%r: tensor<bool> = gir.reduce %a {axes = [0], kind = "max"})",
       "bool"},
      {{"%a: tensor<A, f32>"},
       R"(%r: tensor<1, f32> = gir.reduce %a {axes = [0], kind = "max"})",
       "not []"},
      {{"%q: tensor<B x 6 x S x 64, f32>", "%k: tensor<B x 4 x S x 64, f32>"},
       "%r: tensor<B x 6 x S x 64, f32> = gir.flash_attention %q, %k, %k, [], [], []",
       "multiple of 4"},
      {{"%q: tensor<B x 6 x S x 64, f32>", "%k: tensor<B x 6 x T x 32, f32>"},
       "%r: tensor<B x 6 x S x 32, f32> = gir.flash_attention %q, %k, %k, [], [], []",
       "do not fit"},
      {{"%q: tensor<B x 6 x S x 64, bf16>"},
       "%r: tensor<B x 6 x S x 64, bf16> = gir.flash_attention %q, %q, %q, [], [], []",
       "not f32 of"},
      {{"%q: tensor<B x 6 x S x 64, f32>"},
       "%r: tensor<B x 6 x S x 64, f32> = gir.flash_attention %q, %q, %q, [], [], [] {window = 0}",
       "at least 1"},
      {{"%q: tensor<B x 6 x S x 64, f32>"},
       "%r: tensor<B x 6 x S x 64, f32> = gir.flash_attention %q, %q, %q, [], [], [] {dropout = 0.1}",
       "needs a seed"},
      {{"%q: tensor<B x 6 x S x 64, f32>", "%n: tensor<i32>"},
       "%r: tensor<B x 6 x S x 64, f32> = gir.flash_attention %q, %q, %q, [], [%n], []",
       "the length must be tensor<i64>"},
      {{"%a: tensor<M x K, bf16>", "%b: tensor<L x N, bf16>"},
       "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}",
       "[M, K] and [L, N] do not fit"},
      {{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
       "%r: tensor<M x N, bf16> = gir.gemm %a, %b {accum = bf16}",
       "bf16 cannot accumulate products of f32"},
      {{"%a: tensor<M x K, f32>", "%b: tensor<K x N, bf16>"},
       "%r: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}",
       "operands differ in dtype"},
      {{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
       "%r: tensor<M x N, f64> = gir.gemm %a, %b {accum = f32}",
       "the result has dtype f64, not f32"},
      {{"%a: tensor<M x K, f32>", "%b: tensor<K x N, f32>"},
       "%r: tensor<N x M, f32> = gir.gemm %a, %b {accum = f32}",
       "has dims [N, M], not [M, N]"},
      {{"%a: tensor<B, i32>"}, "%r: tensor<B, i32> = gir.softmax %a", "float dtype, not i32"},
      {{"%a: tensor<f32>"}, "%r: tensor<f32> = gir.softmax %a", "at least one axis"},
      {{"%a: tensor<B x D, f32>", "%s: tensor<B, f32>"},
       "%r: tensor<B x D, f32> = gir.rmsnorm %a, [%s] {eps = 1e-05}",
       "'scale' is tensor<B, f32>"},
      {{"%a: tensor<B x D, f32>"},
       "%r: tensor<B x D, f32> = gir.rmsnorm %a, [] {eps = -1.0}",
       "eps must be"},
      {{"%i: tensor<B, f32>", "%t: tensor<V x D, f32>"},
       "%r: tensor<B x D, f32> = gir.embedding %i, %t",
       "'ids' must be of an integer dtype"},
      {{"%i: tensor<B, i32>", "%t: tensor<V, f32>"},
       "%r: tensor<B, f32> = gir.embedding %i, %t",
       "rank 2"},
      {{"%i: tensor<B, i32>", "%t: tensor<V x D, f32>"},
       "%r: tensor<B, f32> = gir.embedding %i, %t",
       "[B, D]"},
      {{"%b: tensor<4 x D, f32>", "%u: tensor<5 x D, f32>", "%s: tensor<i64>"},
       "%r: tensor<4 x D, f32> = gir.update_slice %b, %u, %s {axis = 0}",
       "nothing says that 5 <= 4"},
      {{"%l: tensor<B x V, f32>", "%t: tensor<V, i64>"},
       "%r: tensor<B, f32> = gir.cross_entropy %l, %t",
       "not one for each row"},
      {{"%l: tensor<B x V, f32>", "%t: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.cross_entropy %l, %t",
       "'targets' must be of an integer dtype"},
      {{"%s: tensor<u32>"},
       "%r: tensor<B, f32> = gir.philox_uniform %s {stream = 0}",
       "must be tensor<u64>"},
      {{"%s: tensor<u64>"},
       "%r: tensor<B, bf16> = gir.philox_normal %s {stream = 0}",
       "dtype bf16, not f32"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a] {arguments = {n = 2}}",
       "attribute 'kernel' is missing"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a, %a] {kernel = @mine, parameters = [1, 1]}",
       "has for each operand its number, in order"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a] {kernel = @mine, parameters = [0, 1]}",
       "has for each operand its number, in order"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.kernel_call [%a] {kernel = @mine, sizes = {W = \"W\"}}",
       "'W' of 'sizes' is not a size"},
      {{"%a: tensor<B, f32>"}, "%r: tensor<C, f32> = gir.cast %a", "another shape"},
      {{"%a: tensor<B, f32>"}, "%r: tensor<B, i64> = gir.bits %a", "f32 and i64 differ in size"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.custom_call [%a] {call = 0} do { gir.yield [%a] }",
       "it is there only while a graph is built"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.custom_tangent [%a], [%a], [%a] {call = 0}",
       "it is there only while a graph is built"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.checkpoint [%a] {kept = 0} do { gir.yield [%a] }",
       "it is there only while a graph is built"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.checkpoint_tangent [%a], [%a]",
       "it is there only while a graph is built"},
      {{"%a: tensor<B, f32>"},
       "%r: tensor<B, f32> = gir.named %a {name = \"a\"}",
       "it is there only while a graph is built"},
      {{"%a: tensor<B, f32>", "%b: tensor<i32>"},
       "%r: tensor<C, f32> = gir.barrier %a, [%b]",
       "the result has dims [C], not [B]"},
  };
  return cases;
}

/// A statement for an elementwise row, with operands of a dtype that it takes.
Accepted elementwise_case(const OpInfo* info) {
  const ElementwiseInfo& row = elementwise_info(info->elementwise);
  DType data = row.cls == ElementwiseClass::Logical ? DType::U16 : DType::BF16;
  DType result = row.cls == ElementwiseClass::Compare ? DType::Bool : data;
  Texts parameters;
  std::string operands;
  for (unsigned i = 0; i < row.operands; ++i) {
    bool condition = row.cls == ElementwiseClass::Choose && i == 0;
    std::string dtype(to_string(condition ? DType::Bool : data));
    std::string name = "%p" + std::to_string(i);
    parameters.push_back(name + ": tensor<B x 3, " + dtype + ">");
    operands += (i ? ", " : " ") + name;
  }
  return {parameters,
          "%r: tensor<B x 3, " + std::string(to_string(result)) + "> = " + info->name + operands};
}

std::vector<const OpInfo*> elementwise_rows() {
  std::vector<const OpInfo*> rows;
  for (size_t kind = 1; kind <= size_t(ElementwiseKind::Cast); ++kind) {
    rows.push_back(info(ElementwiseKind(kind)));
  }
  return rows;
}

std::string op_name(const std::string& statement) {
  size_t at = statement.rfind("gir.");
  return statement.substr(at, statement.find_first_of(" ", at) - at);
}

void check_refused(const Texts& parameters, const std::string& body, const std::string& reason) {
  GraphTest test;
  INFO(body);
  Module* module = test.parse(GraphTest::function_text(parameters, body));
  CHECK_FALSE(module);
  CHECK_THAT(test.messages(), Catch::Contains(reason));
}

}  // namespace

namespace {

/// A function of a carried value %a and a condition %p with these statements, each at a place.
std::string regions_text(const std::string& statements) {
  std::string text = GraphTest::function_text({"%a: tensor<N, f32>", "%p: tensor<bool>"}, "gir.return [%r]");
  std::string placed, place = " loc(\"t.tsr\":1:1)\n";
  for (size_t at = 0; at < statements.size();) {
    size_t end = statements.find('\n', at);
    std::string line = statements.substr(at, end - at);
    bool opens = line.back() == '{';
    placed += "    " + line + (opens ? "\n" : place);
    at = end + 1;
  }
  return text.insert(text.find("    gir.return"), placed);
}

}  // namespace

TEST_CASE("loops, branches and checks are read back as printed") {
  for (std::string statements : {
           "gir.check %p {message = \"it holds\"}\n%r: tensor<N, f32> = gir.neg %a\n",
           "%r: tensor<N, f32> = gir.for [%a] {count = <N + 1>, counter = \"i\"} do(%c: tensor<N, f32>) {\n"
           "  %0: tensor<i64> = gir.dim {value = <i>}\n  gir.yield [%c]\n}\n",
           "%r: tensor<N, f32> = gir.cond [%p] do {\n  gir.yield [%a]\n} do {\n  gir.yield [%a]\n}\n",
           "%r: tensor<N, f32> = gir.cond [] {when = [{left = <N>, relation = \">\", right = 4}]} do {\n"
           "  gir.yield [%a]\n} do {\n  gir.yield [%a]\n}\n",
           "%r: tensor<N, f32> = gir.while [%a] do(%c: tensor<N, f32>) {\n  gir.yield [%p]\n"
           "} do(%d: tensor<N, f32>) {\n  gir.yield [%d]\n}\n"}) {
    GraphTest test;
    std::string text = regions_text(statements);
    Module* module = test.parse(text);
    INFO(text << test.messages());
    REQUIRE(module);
    CHECK(print(*module) == text);
  }
}

TEST_CASE("loops and branches that do not hold together are refused") {
  struct {
    std::string statements, reason;
  } cases[] = {
      {"%r: tensor<N, f32> = gir.for [%a] {count = 2, counter = \"N\"} do(%c: tensor<N, f32>) {\n  gir.yield [%c]\n}\n",
       "'N' is a dim of the function"},
      {"%r: tensor<N, f32> = gir.for [%a] {count = 2, counter = \"2i\"} do(%c: tensor<N, f32>) {\n  gir.yield "
       "[%c]\n}\n",
       "'2i' is not a name of a dim"},
      {"%r: tensor<N, f32> = gir.for [%a] {count = 2, counter = \"i\"} do(%c: tensor<N, f32>) {\n"
       "  %x: tensor<i, f32> = gir.full {value = 0.0}\n  gir.yield [%c]\n}\n",
       "depends on its counter"},
      {"%r: tensor<N, f32> = gir.for [%a] {count = 2, counter = \"i\"} do(%c: tensor<N, f32>) {\n  gir.yield [%p]\n}\n",
       "yielded value 0 of region 0 is tensor<bool>"},
      {"%r: tensor<N, f32> = gir.for [%p] {count = 2, counter = \"i\"} do(%c: tensor<bool>) {\n  gir.yield [%c]\n}\n",
       "value 0 starts as tensor<bool>"},
      {"%r: tensor<N, f32> = gir.cond [%a] do {\n  gir.yield [%a]\n} do {\n  gir.yield [%a]\n}\n", "a bool of rank 0"},
      {"%r: tensor<N, f32> = gir.cond [%p] do {\n  gir.yield [%a]\n} do {\n  gir.yield []\n}\n",
       "takes 0 values and yields 0, not 0 and 1"},
      {"%r: tensor<N, f32> = gir.cond [] do {\n  gir.yield [%a]\n} do {\n  gir.yield [%a]\n}\n",
       "nothing chooses a region"},
      {"%r: tensor<N, f32> = gir.cond [%p] {when = [{left = <N>, relation = \">\", right = 4}]} do {\n"
       "  gir.yield [%a]\n} do {\n  gir.yield [%a]\n}\n",
       "a condition and facts of sizes choose a region"},
      {"%r: tensor<N, f32> = gir.cond [] {when = [{left = <N % 2>, relation = \"==\", right = 0}]} do {\n"
       "  gir.yield [%a]\n} do {\n  %x: tensor<(N//2) x 2, f32> = gir.reshape %a\n  gir.yield [%a]\n}\n",
       "elements do not make"},
      {"gir.check %a {message = \"no\"}\n%r: tensor<N, f32> = gir.neg %a\n", "a bool of rank 0"},
  };
  for (const auto& c : cases) {
    GraphTest test;
    INFO(c.statements);
    CHECK_FALSE(test.parse(regions_text(c.statements)));
    CHECK_THAT(test.messages(), Catch::Contains(c.reason));
  }
}

TEST_CASE("every graph op is read back as printed") {
  std::set<std::string> seen = {"gir.func", "gir.return", "gir.check", "gir.cond", "gir.for", "gir.while", "gir.yield",
                                "gir.custom_call", "gir.custom_tangent", "gir.checkpoint",
                                "gir.checkpoint_tangent", "gir.named"};
  std::vector<Accepted> cases = accepted();
  for (const OpInfo* row : elementwise_rows()) cases.push_back(elementwise_case(row));
  for (const Accepted& c : cases) {
    GraphTest test;
    std::string text = GraphTest::function_text(c.parameters, body_of(c.statement));
    INFO(text);
    Module* module = test.parse(text);
    INFO(test.messages());
    REQUIRE(module);
    CHECK(print(*module) == text);
    seen.insert(op_name(c.statement));
  }
  Context context;
  register_ops(context);
  for (const OpInfo* row : context.all_ops()) {
    INFO(row->name);
    CHECK(seen.count(row->name) == 1);
  }
}

TEST_CASE("graph ops that break a rule are refused with the reason") {
  std::set<std::string> seen;
  for (const Refused& c : refused()) {
    check_refused(c.parameters, body_of(c.statement), c.reason);
    seen.insert(op_name(c.statement));
  }
  for (const Accepted& c : accepted()) {
    INFO(op_name(c.statement) << " has no refused form");
    CHECK(seen.count(op_name(c.statement)) == 1);
  }
}

TEST_CASE("elementwise graph ops refuse other shapes and dtypes") {
  for (const OpInfo* row : elementwise_rows()) {
    Accepted good = elementwise_case(row);
    std::string shape = good.statement, dtype = good.statement;
    shape.replace(shape.find("B x 3"), 5, "B x 4");
    check_refused(good.parameters, body_of(shape), "another shape than the result");
    if (row->elementwise == ElementwiseKind::Cast) continue;
    size_t at = dtype.find("3, ") + 3;
    dtype.replace(at, dtype.find('>') - at, "i64");
    check_refused(good.parameters, body_of(dtype), "the result must be");
  }
}

namespace {

/// A module with one function, its attributes and body given whole.
std::string raw_function(const std::string& parameters, const std::string& attributes,
                         const std::string& body) {
  return "module @m level(graph) version(1) {\n  gir.func @f(" + parameters + ") {" + attributes +
         "} {\n" + body + "\n  }\n}\n";
}

void check_function(const std::string& parameters, const std::string& attributes,
                    const std::string& body, const std::string& reason) {
  GraphTest test;
  INFO(attributes);
  CHECK_FALSE(test.parse(raw_function(parameters, attributes, body)));
  CHECK_THAT(test.messages(), Catch::Contains(reason));
}

}  // namespace

TEST_CASE("a function's facts fit its body") {
  const std::string x = "%x: tensor<B, f32>";
  const std::string arg = R"(args = [{kind = "input", name = "x"}])";
  const std::string result = R"(results = [{name = "y"}])";
  const std::string entry = R"(role = "entry")";
  const std::string init = R"(params = ["w"], role = "init")";
  const std::string body = "gir.return [%x]";
  check_function(x, "args = [], " + result + ", " + entry, body,
                 "it has 1 parameters and describes 0");
  check_function(x, R"(args = [{kind = "other", name = "x"}], )" + result + ", " + entry, body,
                 "the kind of");
  check_function(x, R"(args = [{kind = "input"}], )" + result + ", " + entry, body, "'name' is missing");
  check_function(x, R"(args = [{kind = "input", name = "x", places = 5}], )" + result + ", " + entry, body,
                 "'places' must be a list of strings");
  check_function(x, R"(args = [{kind = "input", name = "x", size = "B"}], )" + result + ", " + entry, body,
                 "'size' is not known");
  check_function(x, arg + R"(, results = [{name = "y"}, {name = "y"}], )" + entry, body, "twice");
  check_function(x, arg + ", " + result + R"(, role = "main")", body, "its role must be");
  check_function(x, arg + R"(, params = ["w"], )" + result + ", " + entry, body,
                 "only an initialiser");
  check_function(x, arg + ", " + result + R"(, role = "init")", body, "names its parameters");
  check_function(x, arg + ", " + result + ", " + init, body, "a seed of type tensor<u64>");
  check_function(x, arg + ", results = [], " + entry, body, "has 0 results, and 1 are returned");
  check_function(x, arg + ", guards = [1], " + result + ", " + entry, body,
                 "each of 'guards' must be a relation");
  check_function(
      x, arg + R"(, guards = [{left = 1, relation = "=", right = <B>}], )" + result + ", " + entry,
      body, "each of 'guards' must be a relation");
  check_function(x, arg + ", effects = [1], " + result + ", " + entry, body,
                 "each of 'effects' must be a string, not 1");
  check_function("%x: f32", arg + ", " + result + ", " + entry, "gir.return []",
                 "must be a tensor");
}

TEST_CASE("an initialiser and guards are read back as printed") {
  const std::string text =
      R"(module @m level(graph) version(1) {
  gir.func @w.init(%seed: tensor<u64>) {args = [{kind = "input", name = "seed"}], params = ["w"], results = [{name = "w"}], role = "init"} {
    %0: tensor<4 x 4, f32> = gir.philox_normal %seed {stream = 3} loc("t.tsr":1:1)
    gir.return [%0] loc("t.tsr":1:1)
  } loc("t.tsr":1:1)
  gir.func @f(%x: tensor<B, f32>) {args = [{kind = "input", name = "x"}], effects = ["rng"], guards = [{left = <B>, relation = "<=", right = 8, text = "B <= 8"}], results = [{name = "y"}], role = "entry"} {
    gir.return [%x] loc("t.tsr":1:1)
  } loc("t.tsr":1:1)
}
)";
  GraphTest test;
  Module* module = test.parse(text);
  INFO(test.messages());
  REQUIRE(module);
  CHECK(print(*module) == text);
}
