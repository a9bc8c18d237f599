#include "check/generate_large.h"

#include <fmt/format.h>

namespace tessera::check {

Dim LargeParts::some_dim() {
  static constexpr int64_t constants[] = {1, 2, 3, 4, 6, 8, 16, 17, 33, 64};
  switch (random_.pick(5)) {
    case 0:
    case 1: return symbol("M");
    case 2:
    case 3: return symbol("N");
    default: return number(random_.of(constants));
  }
}

Fill LargeParts::some_fill() {
  static constexpr Fill fills[] = {Fill::Uniform, Fill::Uniform, Fill::Uniform, Fill::Integers, Fill::Integers,
                                   Fill::Wide,    Fill::Special};
  return random_.of(fills);
}

int LargeParts::partner(int a, std::vector<Dim>& shape) {
  for (int tries = 0; tries < 10; ++tries) {
    int b = any();
    if (type(b).dtype != type(a).dtype) continue;
    auto both = broadcast_dims(type(a).dims, type(b).dims);
    if (!both || both->size() > 4) continue;
    shape = *both;
    return b;
  }
  shape = type(a).dims;
  return a;
}

void LargeParts::attention() {
  static constexpr int64_t widths[] = {4, 8, 16, 17, 32, 64};
  static constexpr DType dtypes[] = {DType::F32, DType::F32, DType::BF16, DType::BF16, DType::F16, DType::F64};
  int64_t groups = 1 + int64_t(random_.pick(2)), shared = 1 + int64_t(random_.pick(3));
  Dim batch = number(1 + int64_t(random_.pick(2))), heads = number(groups * shared);
  Dim rows = some_dim(), keys = some_dim(), depth = number(random_.of(widths)), width = number(random_.of(widths));
  DType dtype = random_.of(dtypes);
  Fill fill = random_.one_in(6) ? Fill::Special : random_.one_in(3) ? Fill::Integers : Fill::Uniform;
  std::vector<int> operands;
  operands.push_back(argument({{batch, heads, rows, depth}, dtype}, fill));
  operands.push_back(argument({{batch, number(groups), keys, depth}, dtype}, fill));
  operands.push_back(argument({{batch, number(groups), keys, width}, dtype}, Fill::Uniform));
  std::string text = "flash_attention({0}, {1}, {2}" + masks_of_attention(operands, heads, rows, keys), plain;
  bool has_functions = operands.size() == 3 && dtype != DType::F64 && random_.one_in(3);
  if (has_functions) {
    auto [function, bias] = function_of_scores(rows, keys);
    plain = text + bias;
    text += function;
  }
  std::string end = ")";
  ValueType result{{batch, heads, rows, width}, dtype};
  if (random_.one_in(5)) {
    end = ", return_lse=True)[1]";
    result = {{batch, heads, rows}, dtype == DType::F64 ? dtype : DType::F32};
  }
  add(text + end, operands, result);
  if (has_functions) program_.nodes.back().plain = plain + end;
}

/// A function that changes scores or leaves some out, and the bias that does the same. Rows are counted as the keys
/// are, the last row with the last key.
std::pair<std::string, std::string> LargeParts::function_of_scores(Dim rows, Dim keys) {
  std::string row = fmt::format("(arange({0}, i32)[:, None] + ({1} - {0}))", rows->text, keys->text);
  std::string key = fmt::format("arange({}, i32)[None, :]", keys->text);
  if (random_.one_in(2)) {
    return {", score_mod=lambda s, b, h, i, j: s + 0.125 * cast(j - i, f32)",
            fmt::format(", bias=0.125 * cast({} - {}, f32)", key, row)};
  }
  int64_t ahead = int64_t(random_.pick(4));
  return {fmt::format(", mask_mod=lambda b, h, i, j: j <= i + {}", ahead),
          fmt::format(", bias=where({} <= {} + {}, 0.0, -INF)", key, row, ahead)};
}

std::string LargeParts::masks_of_attention(std::vector<int>& operands, Dim heads, Dim rows, Dim keys) {
  static constexpr int64_t windows[] = {1, 3, 8, 50};
  std::string text;
  if (random_.one_in(2)) text += ", causal=True";
  if (random_.one_in(3)) text += fmt::format(", window={}", random_.of(windows));
  if (random_.one_in(4)) text += random_.one_in(2) ? ", scale=0.25" : ", scale=1.5";
  if (random_.one_in(3)) {
    std::vector<Dim> dims = random_.one_in(2) ? std::vector{rows, keys} : std::vector{heads, number(1), keys};
    operands.push_back(argument({dims, DType::F32}, random_.one_in(4) ? Fill::Wide : Fill::Uniform));
    text += ", bias={3}";
  }
  return text;
}

void LargeParts::scan() {
  int a = any_with([](const ValueType& t) {
    return t.rank() > 0 && t.rank() < 4 && (t.dtype == DType::F32 || t.dtype == DType::F64 || t.dtype == DType::I32);
  });
  if (a < 0) return;
  std::string width = type(a).dims.back()->text, slots;
  for (size_t i = 0; i + 1 < type(a).rank(); ++i) slots += ":, ";
  bool sums = random_.one_in(2), reverse = random_.one_in(3), exclusive = sums && random_.one_in(3);
  std::string other = !is_float(type(a).dtype) ? (sums ? "0" : "-2147483648") : sums ? "-0.0" : "-INF";
  std::string compare = reverse ? (exclusive ? "<" : "<=") : exclusive ? ">" : ">=";
  // What a value is kept in is rounded away where a kernel takes it.
  std::string taken = fmt::format("cast({{0}}, {})", to_string(type(a).dtype));
  add(fmt::format("{}({}{}{})", sums ? "cumsum" : "cummax", taken, reverse ? ", reverse=True" : "",
                  exclusive ? ", exclusive=True" : ""),
      {a}, type(a));
  // Element i is the sum of those of row i of a square of masked copies.
  program_.nodes.back().plain =
      fmt::format("{}(where(arange({}, i32)[:, None] {} arange({}, i32)[None, :], {}[{}None, :], {}), axis=-1)",
                  sums ? "sum" : "max", width, compare, width, taken, slots, other);
}

void LargeParts::machine_loop() {
  int a = any_with([](const ValueType& t) { return t.dtype == DType::F32 || t.dtype == DType::F64; });
  if (a < 0) return;
  std::vector<Dim> shape;
  int b = partner(a, shape);
  if (shape != type(a).dims) return;
  switch (random_.pick(4)) {
    case 0: return turns_while(a, b);
    case 1: return branch(a, b);
    default: return iterations(a, b);
  }
}

/// As many iterations as an axis has elements, of one value or two.
void LargeParts::iterations(int a, int b) {
  std::string extent = random_.one_in(2) ? "M" : "N";
  switch (random_.pick(4)) {
    case 0:
      return (void)add("    {r} = {0}\n    for i in range(" + extent + "):\n        {r} = {r} * 0.5 + {1}\n", {a, b},
                       type(a));
    case 1:
      return (void)add("    {r} = {0}\n    {r}other = {1} + {0}\n    for i in range(" + extent +
                           "):\n        {r}kept = {r}\n        {r} = {r}other * 0.5\n        {r}other = {r}kept\n",
                       {a, b}, type(a));
    case 2:
      return (void)add("    {r} = {0}\n    for i in range(" + extent +
                           "):\n        {r} = maximum({r}, {1}) - 0.125\n        {r} = tanh({r}) + 0.5\n",
                       {a, b}, type(a));
    default: {
      // Each iteration reads a part of its own.
      int parts = any_with([&](const ValueType& t) {
        return t.rank() == type(a).rank() + 1 && t.dtype == type(a).dtype && !t.dims[0]->symbol().empty() &&
               std::equal(type(a).dims.begin(), type(a).dims.end(), t.dims.begin() + 1);
      });
      if (parts < 0) return;
      static constexpr const char* bodies[] = {
          "        {{r}} = {{r}} * 0.25 + {{1}}[i]\n", "        {{r}} = {{r}} * 0.25 + sum({{1}}[i:i + 1], axis=0)\n",
          "        for j in range({0}):\n            {{r}} = {{r}} * 0.25 + {{1}}[j] * {{1}}[i]\n",
          "        for j in range(i, {0}):\n            {{r}} = {{r}} * 0.25 + tanh({{1}}[i]) - {{1}}[j]\n",
          ("        for j in range(i + 1, {0}):\n            {{r}} = {{r}} * 0.25 + {{1}}[j]\n"
           "        {{r}} = {{r}} + {{1}}[i]\n")};
      std::string extent = type(parts).dims[0]->text;
      add("    {r} = {0}\n    for i in range(" + extent + "):\n" +
              fmt::format(fmt::runtime(random_.of(bodies)), extent),
          {a, parts}, type(a));
    }
  }
}

void LargeParts::turns_while(int a, int b) {
  bool counts = random_.one_in(2);
  std::string condition = counts ? "{r}iteration < 3" : "({r}iteration < 5) and (max({r}) > 0.5)";
  add("    {r} = {0}\n    {r}iteration = zeros((), i32)\n    while " + condition +
          ":\n        {r} = {r} * 0.5 - {1}\n        {r}iteration = {r}iteration + 1\n",
      {a, b}, type(a));
}

void LargeParts::branch(int a, int b) {
  std::string otherwise = random_.one_in(2) ? "" : "    else:\n        {r} = {1} - {0}\n";
  add("    {r} = {0} * 1.0\n    if max({0}) > 0.25:\n        {r} = {0} * 2.0 + {1}\n" + otherwise, {a, b}, type(a));
}

void LargeParts::weight() {
  int a = any_with([](const ValueType& t) {
    return t.rank() > 0 && t.dims.back()->constant() && (t.dtype == DType::F32 || t.dtype == DType::BF16);
  });
  if (a < 0) return;
  static constexpr int64_t widths[] = {1, 3, 8, 17, 32};
  DType dtype = type(a).dtype;
  Fill fill = random_.one_in(2) ? Fill::Integers : Fill::Uniform;
  Dim inner = type(a).dims.back(), outer = number(random_.of(widths));
  bool scales = random_.one_in(3);
  int param = argument(scales ? ValueType{{inner}, dtype} : ValueType{{inner, outer}, dtype}, fill);
  program_.nodes.back().is_param = true;
  if (scales) return (void)add("({0} * {1})", {a, param}, type(a));
  std::vector<Dim> shape = type(a).dims;
  shape.back() = outer;
  add("({0} @ {1})", {a, param}, {shape, dtype});
}

}  // namespace tessera::check
