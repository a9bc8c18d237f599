#include "check/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "check/generate_forms.h"

namespace tessera::check {

namespace {

class ModelGenerator : public PracticalForms {
 public:
  explicit ModelGenerator(uint64_t seed) : PracticalForms(seed) {}

  Program generate() {
    make_arguments();
    size_t ops = 2 + random_.pick(15), first = size_t(count());
    for (int tries = 0; size_t(count()) < first + ops && tries < 200; ++tries) step();
    choose_results(int(first));
    choose_samples();
    return pruned(program_);
  }

 private:
  DType some_dtype() {
    static constexpr DType dtypes[] = {DType::F32,  DType::F32,  DType::F32, DType::F32, DType::F32, DType::BF16,
                                       DType::BF16, DType::BF16, DType::F16, DType::F64, DType::I32, DType::I64,
                                       DType::U8,   DType::I8,   DType::U32, DType::I16};
    return random_.of(dtypes);
  }

  void make_arguments() {
    size_t wanted = 2 + random_.pick(3);
    DType main = random_.pick(3) ? DType::F32 : some_dtype();
    argument({{symbol("M"), symbol("N")}, main}, some_fill());
    for (size_t i = 1; i < wanted; ++i) {
      std::vector<Dim> shape;
      static constexpr size_t ranks[] = {0, 1, 1, 2, 2, 2, 3, 3, 4};
      size_t rank = random_.of(ranks);
      for (size_t d = 0; d < rank; ++d)
        shape.push_back(rank < 4 || d > 1 ? some_dim() : number(int64_t(1 + random_.pick(3))));
      argument({shape, random_.pick(3) ? main : some_dtype()}, some_fill());
    }
  }

  void choose_results(int first) {
    std::vector<int> uses(size_t(count()), 0);
    for (const Node& each : program_.nodes) {
      for (int operand : each.operands) ++uses[size_t(operand)];
    }
    for (int i = count() - 1; i >= first && program_.results.size() < 4; --i) {
      if (program_.results.empty() || (uses[size_t(i)] == 0 && random_.pick(4))) program_.results.push_back(i);
    }
    if (program_.results.empty()) program_.results.push_back(add("({0})", {0}, type(0)));
  }

  void choose_samples() {
    static constexpr int64_t extents[] = {1, 2, 3, 7, 8, 16, 17, 31, 33, 41, 64, 65, 100, 129};
    for (int i = 0; i < 3; ++i) {
      DimValues values;
      for (const char* name : {"M", "N"}) {
        values[name] = random_.one_in(10) ? 0 : random_.of(extents);
      }
      program_.samples.push_back(std::move(values));
    }
  }

  void step() {
    switch (random_.pick(30)) {
      case 0:
      case 1: return unary();
      case 2:
      case 3:
      case 4:
      case 5: return binary();
      case 6: return cast();
      case 7: return broadcast();
      case 8: return transpose();
      case 9: return reshape();
      case 10: return slice();
      case 11:
      case 12: return reduce();
      case 13: return concat();
      case 14:
      case 15: return matmul();
      case 16: return row_op();
      case 17: return choose();
      case 18: return random_.one_in(2) ? lookup() : constant();
      case 19: return random_.one_in(3) ? loop() : three();
      case 20: return random_.one_in(2) ? of_rows() : scan();
      case 21: return random_.one_in(2) ? by_index() : weight();
      case 22: return random_.one_in(2) ? pad() : windows();
      case 23: return random_.one_in(2) ? attention() : machine_loop();
      case 24:
      case 25:
      case 26:
      case 27:
      case 28: return practical_form();
      default: return random_.one_in(2) ? gated() : (random_.one_in(2) ? einsum() : convolution());
    }
  }

  // Functions of the standard library, which become graphs of other ops.

  void of_rows() {
    static constexpr const char* same[] = {
        "layernorm({0})",  "log_softmax({0})", "logaddexp({0}, 0.25)", "softplus({0})",
        "mish({0})",       "elu({0})",         "leaky_relu({0})",      "clamp({0}, -0.5, 0.75)",
        "hard_swish({0})", "gelu_exact({0})",  "quick_gelu({0})"};
    int a = any_with([](const ValueType& t) {
      return t.rank() > 0 && (t.dtype == DType::F32 || t.dtype == DType::BF16 || t.dtype == DType::F64);
    });
    if (a < 0) return;
    if (random_.pick(3)) return (void)add(random_.of(same), {a}, type(a));
    std::vector<Dim> shape = type(a).dims;
    shape.pop_back();
    if (random_.one_in(2)) return (void)add("logsumexp({0})", {a}, {shape, type(a).dtype});
    add(random_.one_in(2) ? "argmax({0})" : "argmin({0})", {a}, {shape, DType::I64});
  }

  void by_index() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0 && t.rank() < 4 && t.dtype == DType::F32; });
    if (a < 0) return;
    std::vector<Dim> shape = type(a).dims;
    std::optional<int64_t> width = shape.back()->constant();
    switch (random_.pick(4)) {
      case 0:
        if (width && *width <= 17) return sorted(a);
        break;
      case 1:
        if (!width || *width < 2) return;
        shape.back() = number(2);
        add("topk({0}, 2)[0]", {a}, {shape, DType::F32});
        program_.nodes.back().plain = ordered(a, true) + picked(row_of(a), "-INF", "max", 2);
        return;
      case 2: {
        int ids = argument({{some_dim()}, DType::I32}, Fill::Indices);
        shape[0] = type(ids).dims[0];
        return (void)add("{0}[{1}]", {a, ids}, {shape, DType::F32});
      }
      default: {
        int ids = argument({{some_dim()}, DType::I32}, Fill::Indices);
        if (type(a).rank() == 1)
          return (void)add("one_hot({0}, 5)", {ids}, {{type(ids).dims[0], number(5)}, DType::F32});
        shape[0] = type(ids).dims[0];
        int updates = any_with([&](const ValueType& t) { return t.dims == shape && t.dtype == DType::F32; });
        if (updates < 0 || shape.size() != 2) return;
        add("scatter_add({0}, {1}, {2})", {a, ids, updates}, type(a));
        program_.nodes.back().plain =
            "sum(concat([{0}[:, None, :], where((cast({1}, i64)[None, :] == arange({0}.shape[0], i64)[:, None])"
            "[:, :, None], {2}[None, :, :], -0.0)], axis=1), axis=1)";
      }
    }
  }

  /// Statements that give the place of each element along the last axis, NaN behind or before all others, in
  /// `{r}place`; the library asks kernels.
  std::string ordered(int a, bool descending) const {
    std::string all, width = type(a).dims.back()->text;
    for (size_t i = 0; i + 1 < type(a).rank(); ++i) all += ":, ";
    // Column i: which of the rows j come before element i.
    std::string rows = fmt::format("{{0}}[{}:, None]", all), columns = fmt::format("{{0}}[{}None, :]", all);
    std::string nan_rows = fmt::format("({0} != {0})", rows), nan_columns = fmt::format("({0} != {0})", columns);
    std::string beyond = descending ? nan_rows + " and not " + nan_columns : nan_columns + " and not " + nan_rows;
    return fmt::format(
        "    {{r}}same = ({0} == {1}) or ({2} and {3})\n"
        "    {{r}}less = ({0} {4} {1}) or ({5}) or ({{r}}same and (arange({6}, i64)[:, None] < arange({6}, i64)[None, "
        ":]))\n"
        "    {{r}}place = sum(cast({{r}}less, i64), axis=-2)[{7}None, :]\n",
        rows, columns, nan_rows, nan_columns, descending ? ">" : "<", beyond, width, all);
  }

  /// The elements of a row whose places are 0 to `count`: statements behind those of `ordered`.
  static std::string picked(const std::string& row, const std::string& none, const std::string& kind, int64_t count) {
    return fmt::format("    {{r}} = {}(where({{r}}place == arange({}, i64)[:, None], {}, {}), axis=-1)\n", kind, count,
                       row, none);
  }

  /// The value with an axis before its last one.
  std::string row_of(int a) const {
    std::string all;
    for (size_t i = 0; i + 1 < type(a).rank(); ++i) all += ":, ";
    return "{0}[" + all + "None, :]";
  }

  void sorted(int a) {
    int64_t width = *type(a).dims.back()->constant();
    if (random_.one_in(2)) {
      a = add("({0} + 0.0)", {a}, type(a));  // sorts take zeros of both signs in any order
      add("sort({0})", {a}, type(a));
      program_.nodes.back().plain = ordered(a, false) + picked(row_of(a), "-INF", "max", width);
      return;
    }
    add("argsort({0})", {a}, {type(a).dims, DType::I64});
    program_.nodes.back().plain =
        ordered(a, false) + picked(fmt::format("arange({}, i64)", width), "0", "sum", width);
  }

  void pad() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0 && t.rank() < 4 && is_number(t.dtype); });
    if (a < 0) return;
    std::vector<Dim> shape = type(a).dims;
    std::string widths;
    for (Dim& dim : shape) {
      int64_t before = int64_t(random_.pick(3)), behind = int64_t(random_.pick(2));
      widths += fmt::format("({}, {}), ", before, behind);
      dim = dims().add(dim, number(before + behind));
    }
    add("pad({0}, (" + widths + "))", {a}, {shape, type(a).dtype});
  }

  void windows() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0 && t.rank() < 4; });
    if (a < 0) return;
    std::vector<Dim> shape = type(a).dims;
    size_t axis = random_.pick(shape.size());
    int64_t size = 2 + int64_t(random_.pick(2)), step = 1 + int64_t(random_.pick(2)),
            dilation = 1 + int64_t(random_.pick(2));
    std::optional<int64_t> extent = shape[axis]->constant();
    int64_t reach = (size - 1) * dilation;
    if (!extent || *extent <= reach) return;
    shape[axis] = number((*extent - reach + step - 1) / step);
    shape.push_back(number(size));
    add(fmt::format("windows({{0}}, {}, axis={}, step={}, dilation={})", size, axis, step, dilation), {a},
        {shape, type(a).dtype});
  }

  void gated() {
    int a = any_with([](const ValueType& t) { return t.dtype == DType::F32 || t.dtype == DType::BF16; });
    if (a < 0) return;
    std::vector<Dim> shape;
    int b = partner(a, shape);
    static constexpr const char* names[] = {"swiglu({0}, {1})", "geglu({0}, {1})", "reglu({0}, {1})"};
    add(random_.of(names), {a, b}, {shape, type(a).dtype});
  }

  void einsum() {
    int a = any_with([](const ValueType& t) { return t.rank() == 2 && t.dtype == DType::F32; });
    if (a < 0) return;
    int b = any_with([&](const ValueType& t) {
      return t.rank() == 2 && t.dtype == DType::F32 && t.dims[0] == type(a).dims[0];
    });
    if (b < 0) return;
    Dim i = type(a).dims[0], j = type(a).dims[1], k = type(b).dims[1];
    switch (random_.pick(3)) {
      case 0: return (void)add("einsum(\"ij,ik->jk\", {0}, {1})", {a, b}, {{j, k}, DType::F32});
      case 1: return (void)add("einsum(\"ij,ik->kj\", {0}, {1})", {a, b}, {{k, j}, DType::F32});
      default: add("einsum(\"ij,ik->ik\", {0}, {1})", {a, b}, {{i, k}, DType::F32});
    }
  }

  /// Images and weights of their own.
  void convolution() {
    int64_t height = 4 + int64_t(random_.pick(5)), width = 4 + int64_t(random_.pick(5)),
            channels = 2 * (1 + int64_t(random_.pick(3)));
    Dim batch = random_.one_in(2) ? symbol("M") : number(2);
    DType dtype = random_.one_in(3) ? DType::BF16 : DType::F32;
    int x = argument({{batch, number(height), number(width), number(channels)}, dtype}, some_fill());
    int64_t stride = 1 + int64_t(random_.pick(2)), edge = int64_t(random_.pick(2));
    auto steps = [&](int64_t extent, int64_t size) { return number((extent + 2 * edge - size) / stride + 1); };
    if (random_.one_in(3)) {
      std::string name = random_.one_in(2) ? "max_pool2d" : "avg_pool2d";
      return (void)add(
          fmt::format("{}({{0}}, (2, 3), strides=({}, {}), padding=({}, {}))", name, stride, stride, edge, edge), {x},
          {{batch, steps(height, 2), steps(width, 3), number(channels)}, dtype});
    }
    int64_t groups = random_.one_in(2) ? 1 : random_.one_in(2) ? 2 : channels;
    int64_t results = groups == 1 ? 1 + int64_t(random_.pick(5)) : groups * (1 + int64_t(random_.pick(2)));
    int w = argument({{number(3), number(2), number(channels / groups), number(results)}, dtype}, Fill::Uniform);
    add(fmt::format("conv2d({{0}}, {{1}}, strides=({}, {}), padding=({}, {}), groups={})", stride, stride, edge, edge,
                    groups),
        {x, w}, {{batch, steps(height, 3), steps(width, 2), number(results)}, dtype});
  }

  void unary() {
    static constexpr const char* of_floats[] = {
        "exp({0})",        "exp2({0})",         "expm1({0})",     "log(abs({0}) + 0.5)",
        "log2({0})",       "log1p(abs({0}))",   "sqrt(abs({0}))", "rsqrt({0} * {0} + 1.0)",
        "reciprocal({0})", "tanh({0})",         "sigmoid({0})",   "erf({0})",
        "erfinv({0})",     "erfinv(tanh({0}))", "gelu({0})",      "silu({0})",
        "relu({0})",       "abs({0})",          "sign({0})",      "floor({0})",
        "ceil({0})",       "round({0})",        "trunc({0})",     "(-{0})",
        "({0} ** 2)",      "({0} ** 3)",        "log({0})",       "sqrt({0})",
        "rsqrt({0})"};
    static constexpr const char* of_f32[] = {"sin({0})", "cos({0})"};
    static constexpr const char* of_integers[] = {"abs({0})", "(-{0})", "sign({0})", "(~{0})", "({0} << 1)",
                                                  "({0} >> 1)", "({0} ** 2)", "relu({0})"};
    int a = any_with(
        [](const ValueType& t) { return is_computed(t.dtype) || is_integer(t.dtype) || t.dtype == DType::Bool; });
    if (a < 0) return;
    DType dtype = type(a).dtype;
    if (dtype == DType::Bool) {
      add("(not {0})", {a}, type(a));
    } else if (is_integer(dtype)) {
      add(random_.of(of_integers), {a}, type(a));
    } else if (dtype != DType::F64 && random_.one_in(12)) {
      add(random_.of(of_f32), {a}, type(a));
    } else {
      add(random_.of(of_floats), {a}, type(a));
    }
  }

  void binary() {
    static constexpr const char* of_floats[] = {"({0} + {1})", "({0} + {1})", "({0} - {1})", "({0} * {1})",
                                                "({0} * {1})", "({0} / {1})", "minimum({0}, {1})",
                                                "maximum({0}, {1})", "({0} // {1})", "({0} % {1})"};
    static constexpr const char* of_integers[] = {"({0} + {1})", "({0} - {1})", "({0} * {1})", "({0} // {1})",
                                                  "({0} % {1})", "minimum({0}, {1})", "maximum({0}, {1})",
                                                  "({0} & {1})", "({0} | {1})", "({0} ^ {1})"};
    static constexpr const char* of_bools[] = {"({0} and {1})", "({0} or {1})", "({0} ^ {1})", "({0} == {1})"};
    static constexpr const char* comparisons[] = {"({0} < {1})", "({0} <= {1})", "({0} == {1})", "({0} != {1})",
                                                  "({0} > {1})", "({0} >= {1})"};
    int a = any_with([](const ValueType& t) { return dtype_info(t.dtype).bits > 8 || !is_float(t.dtype); });
    if (a < 0) return;
    std::vector<Dim> shape;
    int b = partner(a, shape);
    DType dtype = type(a).dtype;
    if (random_.pick(2)) std::swap(a, b);
    if (dtype == DType::Bool) return (void)add(random_.of(of_bools), {a, b}, {shape, DType::Bool});
    if (random_.one_in(8)) return (void)add(random_.of(comparisons), {a, b}, {shape, DType::Bool});
    std::string text = is_float(dtype) ? random_.of(of_floats) : random_.of(of_integers);
    if (dtype == DType::F64 && text == "({0} % {1})") text = "({0} - {1})";
    if (random_.one_in(4)) {
      size_t at = text.find("{1}");
      std::string number = literal(random_, dtype);
      // Integers are not divided by a zero that is written.
      bool divides = text.find(" // ") != std::string::npos || text.find(" % ") != std::string::npos;
      if (divides && !is_float(dtype) && number == "0") number = "3";
      return (void)add(text.replace(at, 3, number), {a}, type(a));
    }
    add(text, {a, b}, {shape, dtype});
  }

  void three() {
    int a = any_with([](const ValueType& t) { return t.dtype == DType::F32 || t.dtype == DType::BF16; });
    if (a < 0) return;
    std::vector<Dim> shape;
    int b = partner(a, shape);
    if (random_.one_in(2)) return (void)add("fma({0}, {1}, 0.5)", {a, b}, {shape, type(a).dtype});
    add("pow(abs({0}) + 0.125, {1})", {a, b}, {shape, type(a).dtype});
  }

  void cast() {
    if (random_.one_in(8)) return quantised();
    static constexpr DType to[] = {DType::F32, DType::F32, DType::BF16, DType::BF16, DType::F16, DType::F64,
                                   DType::I32, DType::I64, DType::I8,  DType::U8,   DType::F8E4M3, DType::F8E5M2,
                                   DType::Bool, DType::U32};
    int a = any();
    DType dtype = random_.of(to);
    add(fmt::format("cast({{0}}, {})", to_string(dtype)), {a}, {type(a).dims, dtype});
  }

  void quantised() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0 && t.dtype == DType::F32; });
    if (a < 0) return;
    add(random_.one_in(2) ? "quantize({0})[0]" : "quantize({0}, axis=-1)[0]", {a}, {type(a).dims, DType::I8});
  }

  void broadcast() {
    int a = any_with([](const ValueType& t) { return t.rank() < 4; });
    if (a < 0) return;
    std::vector<Dim> shape = type(a).dims;
    if (random_.one_in(2)) {
      size_t at = random_.pick(shape.size() + 1);
      std::string text = "{0}[";
      for (size_t i = 0; i <= shape.size(); ++i) text += std::string(i ? ", " : "") + (i == at ? "None" : ":");
      shape.insert(shape.begin() + std::ptrdiff_t(at), number(1));
      return (void)add(text + "]", {a}, {shape, type(a).dtype});
    }
    for (Dim& dim : shape) {
      if (dim->is_constant(1) && random_.one_in(2)) dim = some_dim();
    }
    if (shape.size() < 3) shape.insert(shape.begin(), number(1 + int64_t(random_.pick(3))));
    add("broadcast_to({0}, " + tuple_text(shape) + ")", {a}, {shape, type(a).dtype});
  }

  static std::string tuple_text(const std::vector<Dim>& shape) {
    std::string text = "(";
    for (Dim dim : shape) text += dim->text + ", ";
    return text + ")";
  }

  void transpose() {
    int a = any_with([](const ValueType& t) { return t.rank() > 1; });
    if (a < 0) return;
    std::vector<Dim> shape = type(a).dims;
    size_t rank = shape.size();
    if (random_.one_in(2)) {
      std::swap(shape[rank - 1], shape[rank - 2]);
      return (void)add("{0}.T", {a}, {shape, type(a).dtype});
    }
    std::vector<size_t> perm(rank);
    for (size_t i = 0; i < rank; ++i) perm[i] = i;
    for (size_t i = rank; i-- > 1;) std::swap(perm[i], perm[random_.pick(i + 1)]);
    std::string text = "transpose({0}";
    for (size_t i = 0; i < rank; ++i) {
      text += fmt::format(", {}", perm[i]);
      shape[i] = type(a).dims[perm[i]];
    }
    add(text + ")", {a}, {shape, type(a).dtype});
  }

  void reshape() {
    int a = any();
    std::vector<Dim> shape = type(a).dims;
    if (shape.size() > 1 && random_.one_in(2)) {
      size_t at = random_.pick(shape.size() - 1);
      shape[at] = dims().mul(shape[at], shape[at + 1]);
      shape.erase(shape.begin() + std::ptrdiff_t(at) + 1);
    } else if (shape.size() < 4 && !split(shape)) {
      shape.insert(shape.begin() + std::ptrdiff_t(random_.pick(shape.size() + 1)), number(1));
    }
    add("reshape({0}, " + tuple_text(shape) + ")", {a}, {shape, type(a).dtype});
  }

  /// Makes two axes of one that a constant divides.
  bool split(std::vector<Dim>& shape) {
    for (size_t i = 0; i < shape.size(); ++i) {
      for (int64_t factor : {4, 3, 2}) {
        auto extent = shape[i]->constant();
        if (!is_multiple_of(shape[i], factor) || (extent && *extent <= factor)) continue;
        Dim rest = dims().floordiv(shape[i], number(factor));
        shape[i] = random_.one_in(2) ? rest : number(factor);
        shape.insert(shape.begin() + std::ptrdiff_t(i) + 1, shape[i] == rest ? number(factor) : rest);
        return true;
      }
    }
    return false;
  }

  void slice() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0; });
    if (a < 0) return;
    std::string text = "{0}[";
    std::vector<Dim> shape;
    for (Dim dim : type(a).dims) {
      std::string part = ":";
      if (random_.one_in(2)) part = cut(dim);
      text += part + ", ";
      if (dim) shape.push_back(dim);
    }
    add(text + "]", {a}, {shape, type(a).dtype});
  }

  /// A subscript of an axis; `extent` becomes the new one, or null where the axis goes.
  std::string cut(Dim& extent) {
    std::optional<int64_t> known = extent->constant();
    if (known && *known >= 1 && random_.one_in(5)) {
      extent = nullptr;
      return random_.one_in(2) ? "-1" : fmt::format("{}", random_.pick(size_t(*known)));
    }
    if (known && *known >= 3) {
      int64_t start = int64_t(random_.pick(2)), step = 1 + int64_t(random_.pick(2)), stop = int64_t(random_.pick(2));
      int64_t end = *known - stop;
      extent = number((end - start + step - 1) / step);
      return (start ? fmt::format("{}", start) : std::string()) + ":" +
             (stop ? fmt::format("-{}", stop) : std::string()) + (step > 1 ? fmt::format(":{}", step) : std::string());
    }
    if (known || interval(extent).low.value_or(-1) < 0) return ":";
    Dim half = dims().floordiv(extent, number(2));
    switch (random_.pick(3)) {
      case 0:
        extent = dims().ceildiv(extent, number(2));
        return "::2";
      case 1: {
        std::string text = ":" + half->text;
        extent = half;
        return text;
      }
      default: {
        std::string text = half->text + ":";
        extent = dims().sub(extent, half);
        return text;
      }
    }
  }

  void reduce() {
    int a =
        any_with([](const ValueType& t) { return t.rank() > 0 && is_number(t.dtype) && dtype_info(t.dtype).bits > 8; });
    if (a < 0) return;
    static constexpr const char* of_floats[] = {"sum", "sum", "mean", "max", "min"};
    static constexpr const char* of_integers[] = {"sum", "max", "min", "prod"};
    std::string name = is_float(type(a).dtype) ? random_.of(of_floats) : random_.of(of_integers);
    size_t rank = type(a).rank(), only = random_.pick(2 * rank);
    bool keep = random_.one_in(2);
    std::string axes;
    std::vector<Dim> shape;
    for (size_t i = 0; i < rank; ++i) {
      bool reduced = only < rank ? i == only : random_.one_in(2) || (i + 1 == rank && axes.empty());
      if (reduced) axes += fmt::format("{}, ", int64_t(i) - (random_.one_in(2) ? int64_t(rank) : 0));
      if (!reduced) shape.push_back(type(a).dims[i]);
      if (reduced && keep) shape.push_back(number(1));
    }
    add(fmt::format("{}({{0}}, axis=({}){})", name, axes, keep ? ", keepdims=True" : ""), {a}, {shape, type(a).dtype});
  }

  void concat() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0; });
    if (a < 0) return;
    size_t axis = random_.pick(type(a).rank());
    int b = any_with([&](const ValueType& t) {
      if (t.rank() != type(a).rank() || t.dtype != type(a).dtype) return false;
      for (size_t i = 0; i < t.rank(); ++i) {
        if (i != axis && t.dims[i] != type(a).dims[i]) return false;
      }
      return true;
    });
    if (b < 0) return;
    std::vector<Dim> shape = type(a).dims;
    shape[axis] = dims().add(shape[axis], type(b).dims[axis]);
    add(fmt::format("concat(({{0}}, {{1}}), axis={})", axis), {a, b}, {shape, type(a).dtype});
  }

  void matmul() {
    int a = any_with([](const ValueType& t) {
      return t.rank() > 0 && (is_computed(t.dtype) || t.dtype == DType::I8 || t.dtype == DType::F8E4M3);
    });
    if (a < 0) return;
    Dim k = type(a).dims.back();
    DType dtype = type(a).dtype;
    int b = any_with([&](const ValueType& t) { return t.rank() == 2 && t.dims[0] == k && t.dtype == dtype; });
    std::string text = "({0} @ {1})";
    if (b < 0 && random_.one_in(2)) {
      b = any_with([&](const ValueType& t) { return t.rank() == 2 && t.dims[1] == k && t.dtype == dtype; });
      text = "({0} @ {1}.T)";
    }
    if (b < 0) {
      // A weight of its own; its dims stand alone where they declare a symbol.
      bool simple = k->constant() || !k->symbol().empty();
      if (!simple) return;
      b = argument({{k, some_dim()}, dtype}, type(a).dims.size() % 2 ? Fill::Integers : Fill::Uniform);
      text = "({0} @ {1})";
    }
    std::vector<Dim> shape = type(a).dims;
    shape.back() = type(b).dims[text == "({0} @ {1})" ? 1 : 0];
    add(text, {a, b}, {shape, dtype == DType::I8 ? DType::I32 : dtype});
  }

  void row_op() {
    int a = any_with([](const ValueType& t) { return t.rank() > 0 && is_computed(t.dtype); });
    if (a < 0) return;
    size_t rank = type(a).rank();
    switch (random_.pick(4)) {
      case 0: return (void)add(fmt::format("softmax({{0}}, axis={})", random_.pick(rank)), {a}, type(a));
      case 1: return (void)add("softmax({0})", {a}, type(a));
      case 2: return (void)add("rmsnorm({0})", {a}, type(a));
      default: {
        Dim width = type(a).dims.back();
        int scale = any_with([&](const ValueType& t) {
          return t.rank() == 1 && t.dims[0] == width && t.dtype == type(a).dtype;
        });
        if (scale >= 0) add("rmsnorm({0}, {1}, eps=1e-5)", {a, scale}, type(a));
      }
    }
  }

  void choose() {
    int a = any_with([](const ValueType& t) { return is_number(t.dtype); });
    if (a < 0) return;
    if (type(a).rank() >= 2 && random_.one_in(2)) return mask(a);
    int condition = any_with([&](const ValueType& t) {
      return t.dtype == DType::Bool && broadcast_dims(t.dims, type(a).dims);
    });
    if (condition < 0) return;
    std::vector<Dim> shape = *broadcast_dims(type(condition).dims, type(a).dims);
    if (shape.size() > 4) return;
    add("where({0}, {1}, " + literal(random_, type(a).dtype) + ")", {condition, a}, {shape, type(a).dtype});
  }

  /// A causal mask over the last two axes.
  void mask(int a) {
    Dim rows = type(a).dims[type(a).rank() - 2], columns = type(a).dims.back();
    std::string other = literal(random_, type(a).dtype);
    add(fmt::format("where(arange({}, i32)[:, None] >= arange({}, i32)[None, :], {{0}}, {})", rows->text,
                    columns->text, other),
        {a}, type(a));
  }

  void lookup() {
    int ids = any_with([](const ValueType& t) {
      return t.rank() < 3 && (t.dtype == DType::I32 || t.dtype == DType::I64 || t.dtype == DType::U8);
    });
    int table = any_with([](const ValueType& t) { return t.rank() == 2 && is_number(t.dtype); });
    if (table < 0) return;
    if (ids < 0) ids = argument({{some_dim()}, DType::I32}, Fill::Indices);
    Dim rows = type(table).dims[0];
    bool simple = rows->constant() || !rows->symbol().empty();
    if (simple && is_computed(type(table).dtype) && random_.one_in(2)) {
      int targets = argument({{rows}, DType::I32}, Fill::Indices);
      return (void)add("cross_entropy({0}, {1})", {table, targets},
                       {{rows}, type(table).dtype == DType::F64 ? DType::F64 : DType::F32});
    }
    std::vector<Dim> shape = type(ids).dims;
    shape.push_back(type(table).dims[1]);
    add("embedding({0}, {1})", {ids, table}, {shape, type(table).dtype});
  }

  void constant() {
    Dim a = some_dim(), b = some_dim();
    DType dtype = random_.one_in(3) ? DType::I32 : DType::F32;
    switch (random_.pick(3)) {
      case 0: return (void)add(fmt::format("arange({}, i32)", a->text), {}, {{a}, DType::I32});
      case 1:
        return (void)add(
            fmt::format("full(({}, {}), {}, {})", a->text, b->text, literal(random_, dtype), to_string(dtype)), {},
            {{a, b}, dtype});
      default:
        add(fmt::format("normal(0.5, shape=({}, {}), dtype=f32)", a->text, b->text), {}, {{a, b}, DType::F32});
    }
  }

  /// A loop that is unrolled, with numbers from a list.
  void loop() {
    int a = any_with([](const ValueType& t) { return t.dtype == DType::F32 || t.dtype == DType::F64; });
    if (a < 0) return;
    std::vector<Dim> shape;
    int b = partner(a, shape);
    if (shape != type(a).dims) return;
    add(fmt::format(
            "    {{r}} = {{0}}\n    for i in range({}):\n        {{r}} = {{r}} * [0.5, -0.25, 2.0][i] + {{1}}\n",
            1 + random_.pick(3)),
        {a, b}, type(a));
  }
};

}  // namespace

Program random_model(uint64_t seed) { return ModelGenerator(seed).generate(); }

Program random_program(uint64_t seed) {
  if (seed % 3 == 0) return random_kernel(seed);
  return seed % 20 == 1 ? random_state(seed) : random_model(seed);
}

}  // namespace tessera::check
