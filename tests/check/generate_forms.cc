#include "check/generate_forms.h"

#include <fmt/format.h>

namespace tessera::check {

void PracticalForms::practical_form() {
  switch (random_.pick(8)) {
    case 0:
    case 1:
    case 2: return product();
    case 3: return recurrence();
    case 4: return packed_product();
    case 5: return whole_reduction();
    case 6: return rows_of_rows();
    default: return region_sum();
  }
}

DType PracticalForms::some_factor() {
  static constexpr DType dtypes[] = {DType::F32,  DType::F32, DType::F32, DType::BF16,
                                     DType::BF16, DType::F16, DType::F64};
  return random_.of(dtypes);
}

/// Rows that are known, beside columns that are not; few, one more than a block, some blocks.
Dim PracticalForms::some_rows() {
  static constexpr int64_t rows[] = {1, 2, 5, 8, 12, 13, 16, 17, 33, 48, 97, 130, 200, 257};
  return random_.one_in(5) ? some_dim() : number(random_.of(rows));
}

std::string PracticalForms::followed(const std::string& text, Dim rows, Dim columns, DType dtype,
                                     std::vector<int>& operands) {
  auto other = [&](std::vector<Dim> dims) {
    operands.push_back(argument({std::move(dims), dtype}, some_fill()));
    return fmt::format("{{{}}}", operands.size() - 1);
  };
  switch (random_.pick(10)) {
    case 0: return "gelu(" + text + " + " + other({columns}) + ")";
    case 1: return text + " * " + other({rows, columns});
    case 2: return text + " + " + other({rows, number(1)});
    case 3: return text + " * M";
    case 4: return "relu(" + text + ") * (M + 2 * N) + " + other({columns});
    case 5: return text + " * " + other({number(3), rows, columns}) + "[1]";
    case 6: return text + " + " + other({columns, rows}) + ".T";
    case 7: return text + " * cast(arange(" + columns->text + ", i32), " + std::string(to_string(dtype)) + ")";
    case 8: return "maximum(" + text + ", " + other({dims().mul(number(2), rows), columns}) + "[::2, :])";
    default: return text;
  }
}

void PracticalForms::product() {
  DType dtype = some_factor();
  Dim rows = some_rows(), depth = some_dim(), columns = some_dim();
  bool turned = random_.one_in(2), batched = random_.one_in(4);
  std::vector<Dim> left{rows, depth}, result{rows, columns};
  if (batched) left.insert(left.begin(), number(2)), result.insert(result.begin(), number(2));
  std::vector<int> operands{argument({left, dtype}, some_fill())};
  operands.push_back(
      argument({turned ? std::vector{columns, depth} : std::vector{depth, columns}, dtype}, some_fill()));
  std::string text = followed(turned ? "({0} @ {1}.T)" : "({0} @ {1})", rows, columns, dtype, operands);
  bool compares = random_.one_in(8);
  text = "(" + text + ")";
  add(compares ? "(" + text + " > 0.0)" : text, operands, {result, compares ? DType::Bool : dtype});
}

/// A state of some rows, and in each iteration a part of a tensor, in a product or beside one.
void PracticalForms::recurrence() {
  DType dtype = random_.one_in(3) ? some_factor() : DType::F32;
  Dim iterations = random_.pick(4) ? symbol("M") : number(3), rows = some_rows();
  Dim width = random_.one_in(3) ? number(17) : symbol("N");
  int parts = argument({{iterations, rows, width}, dtype}, Fill::Uniform);
  int weights = argument({{width, width}, dtype}, random_.one_in(2) ? Fill::Integers : Fill::Uniform);
  int start = argument({{rows, width}, dtype}, Fill::Uniform);
  static constexpr const char* bodies[] = {
      "        {{r}} = {{1}}[i] + {{r}} @ {{2}} * 0.0625\n",
      "        {{r}} = tanh({{1}}[i] + {{r}} @ {{2}})\n",
      "        {{r}} = tanh({{1}}[i] @ {{2}}.T + {{r}} * 0.5)\n",
      "        {{r}} = {{r}} * 0.5 + {{1}}[i] @ {{2}} * (i + 1)\n",
      "        {{r}} = sigmoid({{r}} @ {{2}} + {{1}}[i]) * {{r}} + tanh({{r}} @ {{2}}.T)\n",
      "        for j in range(i, {0}):\n            {{r}} = {{r}} * 0.25 + {{1}}[j] @ {{2}} + {{1}}[i]\n"};
  add(fmt::format("    {{r}} = {{0}}\n    for i in range({}):\n", iterations->text) +
          fmt::format(fmt::runtime(random_.of(bodies)), iterations->text),
      {start, parts, weights}, {{rows, width}, dtype});
}

/// Weights of 4 bits, two to a byte.
void PracticalForms::packed_product() {
  Dim rows = some_rows(), half = random_.one_in(3) ? number(9) : symbol("M"), columns = some_dim();
  int x = argument({{rows, dims().mul(number(2), half)}, DType::F32}, Fill::Integers);
  int packed = argument({{half, columns}, DType::U8}, Fill::Wide),
      scale = argument({{columns}, DType::F32}, Fill::Uniform);
  add("matmul_int4({0}, {1}, {2})", {x, packed, scale}, {{rows, columns}, DType::F32});
  program_.nodes.back().plain =
      "    {r}x = reshape({0}, (" + rows->text + ", " + half->text + ", 2))\n"
      "    {r}low, {r}high = cast(({1} & 15) ^ 8, i32) - 8, cast(({1} >> 4) ^ 8, i32) - 8\n"
      "    {r} = ({r}x[:, :, 0] @ cast({r}low, f32) + {r}x[:, :, 1] @ cast({r}high, f32)) * {2}[None, :]\n";
}

/// A sum or an extreme of all elements of an expression.
void PracticalForms::whole_reduction() {
  int a = any_with([](const ValueType& t) { return t.rank() == 2 && is_computed(t.dtype); });
  if (a < 0) return;
  DType dtype = type(a).dtype;
  Dim rows = type(a).dims[0], columns = type(a).dims[1];
  bool simple = true;
  for (Dim dim : {rows, columns}) simple = simple && (dim->constant() || !dim->symbol().empty());
  auto other = [&](std::vector<Dim> shape) { return simple ? argument({std::move(shape), dtype}, some_fill()) : a; };
  std::vector<int> operands{a};
  std::string text;
  switch (random_.pick(10)) {
    case 0: text = "{0} * {1}", operands.push_back(simple ? other({columns}) : a); break;
    case 1: text = "{0} * {1}", operands.push_back(simple ? other({rows, number(1)}) : a); break;
    case 2: text = simple ? "{0}.T * {1}" : "{0}.T", operands.push_back(other({columns, rows})); break;
    case 3: text = "{0}[::2, :]"; break;
    case 4: text = "{0}[:, ::3] * 0.5"; break;
    case 5: text = "{0} * cast(arange(" + columns->text + ", i32), " + std::string(to_string(dtype)) + ")"; break;
    case 6: text = "softmax({0}, axis=1)"; break;
    case 7: text = "{0} - mean({0}, axis=1, keepdims=True)"; break;
    case 8: text = "{0} * sum({0}, axis=0)"; break;
    default: text = "log1p(abs({0}))";
  }
  static constexpr const char* kinds[] = {"sum", "sum", "sum", "max", "mean"};
  add(fmt::format("{}({})", random_.of(kinds), text), operands, {{}, dtype});
}

/// The results of rows, of those of other rows or columns.
void PracticalForms::rows_of_rows() {
  int a =
      any_with([](const ValueType& t) { return t.rank() == 2 && (t.dtype == DType::F32 || t.dtype == DType::F64); });
  if (a < 0) return;
  const ValueType whole = type(a), down{{whole.dims[0]}, whole.dtype}, across{{whole.dims[1]}, whole.dtype};
  switch (random_.pick(8)) {
    case 0: return (void)add("logsumexp(log_softmax({0}, axis=0), axis=1)", {a}, down);
    case 1: return (void)add("sum(softmax({0}, axis=1), axis=(0, 1))", {a}, {{}, whole.dtype});
    case 2: return (void)add("softmax({0} - mean({0}, axis=0, keepdims=True), axis=0)", {a}, whole);
    case 3: return (void)add("sum({0} * max({0}, axis=1, keepdims=True), axis=0)", {a}, across);
    case 4: return (void)add("max(softmax({0}, axis=0), axis=1)", {a}, down);
    case 5: return (void)add("rmsnorm(softmax({0}, axis=1))", {a}, whole);
    case 6: return (void)add("sum(rmsnorm({0}) * sum({0}, axis=1, keepdims=True), axis=1)", {a}, down);
    default: add("softmax(softmax({0}, axis=0), axis=1)", {a}, whole);
  }
}

/// A kernel whose programs add to one region, and arithmetic with the sums.
void PracticalForms::region_sum() {
  int a = any_with([](const ValueType& t) { return t.rank() == 2 && t.dtype == DType::F32; });
  if (a < 0) return;
  bool whole = type(a).dims[1]->constant().has_value() || !type(a).dims[1]->symbol().empty();
  if (!whole) return;
  Dim columns = type(a).dims[1];
  int start = argument({{columns}, DType::F32}, Fill::Integers);
  static constexpr const char* ends[] = {"", " * 3.0", " + {1}", " * M"};
  std::string end = random_.of(ends);
  add("    {r} = {r}k({0}, {1})" + end + "\n", {a, start}, {{columns}, DType::F32});
  program_.nodes.back().plain = "(sum(concat(({1}[None, :], {0}), axis=0), axis=0)" + end + ")";
  program_.nodes.back().definitions =
      fmt::format("@kernel.schedule(Schedule(BP={}))\n", random_.one_in(2) ? 8 : 3) +
      "def {r}k(x: Tensor[P, Q, f32], y: Region[reduce_sum] Tensor[Q, f32]):\n"
      "    t = tile.context(p=P, q=Q)\n"
      "    tile.store(tile.sum(tile.load(x, (t.i, t.j), (t.p, t.q)), axis=0), y)\n\n";
}

}  // namespace tessera::check
