// Random kernels. Each value is written twice: on tiles, and on the whole tensors that the tiles are parts of, where
// every op on a narrow dtype is followed by the cast that tiles round with.

#include <fmt/format.h>

#include <algorithm>

#include "check/generate.h"
#include "check/generator.h"

namespace tessera::check {

namespace {

enum class Shape : uint8_t {
  Line,      ///< one axis
  Blocks,    ///< m and n, both blocked
  Rows,      ///< n whole: reductions along it
  Columns,   ///< m whole
  Product,   ///< m, n, and a product along k
  Fold,      ///< m, and a reduction along k tile by tile
  Batch,     ///< a leading axis of one element a program
};

class KernelGenerator : public Generator {
 public:
  explicit KernelGenerator(uint64_t seed) : Generator(seed) {}

  Program generate() {
    static constexpr Shape shapes[] = {Shape::Line, Shape::Blocks, Shape::Rows, Shape::Rows, Shape::Columns,
                                       Shape::Product, Shape::Product, Shape::Fold, Shape::Batch};
    shape_ = random_.of(shapes);
    program_.kernel.emplace();
    make_axes();
    make_arguments();
    size_t ops = 1 + random_.pick(8), first = size_t(count());
    if (shape_ == Shape::Product) product();
    if (shape_ == Shape::Fold) fold();
    for (int tries = 0; size_t(count()) < first + ops && tries < 100; ++tries) step();
    choose_results(int(first));
    choose_schedules();
    choose_samples();
    return pruned(program_);
  }

 private:
  bool has(Dim axis, const ValueType& t) const { return std::count(t.dims.begin(), t.dims.end(), axis) != 0; }

  /// A symbol, or now and then a number of its own.
  Dim extent(const char* name, int64_t constant) {
    return random_.one_in(3) ? number(constant) : symbol(name);
  }

  void axis(const char* name, Dim extent, bool whole) { program_.kernel->axes.push_back({name, extent, whole}); }

  void make_axes() {
    static constexpr int64_t ms[] = {1, 12, 33, 64}, ns[] = {5, 16, 48, 100}, ks[] = {3, 17, 32, 80};
    m_ = extent("M", random_.of(ms));
    n_ = extent("N", random_.of(ns));
    k_ = extent("K", random_.of(ks));
    if (shape_ == Shape::Batch) axis("b", b_ = number(3), true);
    if (shape_ != Shape::Line) axis("m", m_, shape_ == Shape::Columns);
    if (shape_ != Shape::Fold) axis("n", n_, shape_ == Shape::Rows || (shape_ == Shape::Batch && random_.one_in(2)));
    if (shape_ == Shape::Product || shape_ == Shape::Fold) axis("k", k_, false);
  }

  Fill some_fill() {
    static constexpr Fill fills[] = {Fill::Uniform, Fill::Uniform, Fill::Integers, Fill::Wide, Fill::Special};
    return random_.of(fills);
  }

  /// The dims of a value that has all axes of the result.
  std::vector<Dim> full() {
    switch (shape_) {
      case Shape::Line: return {n_};
      case Shape::Fold: return {m_};
      case Shape::Batch: return {b_, m_, n_};
      default: return {m_, n_};
    }
  }

  void make_arguments() {
    static constexpr DType dtypes[] = {DType::F32, DType::F32, DType::F32, DType::BF16, DType::BF16, DType::F16,
                                       DType::F64, DType::I32};
    dtype_ = random_.of(dtypes);
    if (shape_ == Shape::Product && dtype_ == DType::I32) dtype_ = DType::F32;
    argument({full(), dtype_}, some_fill());
    if (shape_ != Shape::Line && random_.one_in(2)) argument({{m_}, dtype_}, some_fill());
    if (shape_ != Shape::Fold && random_.one_in(2)) argument({{n_}, dtype_}, some_fill());
    if (random_.one_in(2)) argument({full(), random_.one_in(2) ? dtype_ : DType::F32}, some_fill());
  }

  /// Adds a value; the dtype's rounding is written on tensors.
  int both(const std::string& on_tensors, const std::string& on_tiles, std::vector<int> operands, ValueType type) {
    bool rounds = is_float(type.dtype) && dtype_info(type.dtype).bits < 32;
    std::string text = rounds ? fmt::format("cast({}, {})", on_tensors, to_string(type.dtype)) : on_tensors;
    int made = add(text, std::move(operands), std::move(type));
    program_.nodes.back().tile = on_tiles;
    return made;
  }

  /// acc = sum of tiles of products along k.
  void product() {
    DType sum = dtype_ == DType::F64 ? DType::F64 : DType::F32;
    Fill fill = random_.one_in(2) ? Fill::Integers : Fill::Uniform;
    int a = argument({{m_, k_}, dtype_}, fill), b = argument({{k_, n_}, dtype_}, fill);
    std::string loop = fmt::format(
        "    {{r}} = tile.zeros((t.m, t.n), {})\n    for k in tile.range({}, t.k):\n"
        "        {{r}} = tile.dot(tile.load({{@0}}, ($m, k), (t.m, t.k)), tile.load({{@1}}, (k, $n), (t.k, t.n)), {{r}})\n",
        to_string(sum), k_->text);
    int made = add(fmt::format("cast({{0}} @ {{1}}, {})", to_string(sum)), {a, b}, {{m_, n_}, sum});
    program_.nodes.back().tile = loop;
    made_ = sum != dtype_ ? cast(made, dtype_) : made;
  }

  /// A sum or maximum of tiles along k.
  void fold() {
    int a = argument({{m_, k_}, dtype_}, some_fill());
    bool sums = dtype_ == DType::F32 || dtype_ == DType::F64 || dtype_ == DType::I32;
    bool most = !sums || random_.one_in(2);
    std::string start = !most ? "tile.zeros((t.m,), " + std::string(to_string(dtype_)) + ")"
                              : fmt::format("tile.full((t.m,), {}, {})", is_float(dtype_) ? "-INF" : "-2147483648",
                                            to_string(dtype_));
    std::string step = most ? "tile.maximum({r}, tile.max(tile.load({@0}, ($m, k), (t.m, t.k)), axis=1))"
                            : "{r} + tile.sum(tile.load({@0}, ($m, k), (t.m, t.k)), axis=1)";
    made_ = add(most ? "max({0}, axis=1)" : "sum({0}, axis=1)", {a}, {{m_}, dtype_});
    program_.nodes.back().tile = fmt::format("    {{r}} = {}\n    for k in tile.range({}, t.k):\n        {{r}} = {}\n",
                                             start, k_->text, step);
  }

  void step() {
    switch (random_.pick(8)) {
      case 0:
      case 1: return unary();
      case 2:
      case 3:
      case 4: return binary();
      case 5: return reduce();
      case 6: return choose();
      default: return (void)cast(-1, DType::F32);
    }
  }

  bool is_tile(const ValueType& t) const { return !has(k_, t) || k_ == m_ || k_ == n_; }
  /// A value that tiles have: not an operand of a product, which is only loaded in its loop.
  int any_tile() {
    return any_with([&](const ValueType& t) {
      return t.dims.empty() || (t.dims == full()) || (t.rank() == 1 && (t.dims[0] == m_ || t.dims[0] == n_));
    });
  }

  void unary() {
    static constexpr const char* of_floats[] = {"exp", "exp2", "tanh", "sigmoid", "relu", "abs", "silu", "gelu", "erf",
                                                "floor", "ceil", "rsqrt", "sqrt", "log", "reciprocal", "expm1", "log1p", "log2"};
    int a = any_tile();
    if (a < 0 || type(a).dtype == DType::Bool) return;
    std::string name = is_float(type(a).dtype) ? random_.of(of_floats) : "relu";
    if (random_.one_in(5)) return (void)both("(-{0})", "(-{0})", {a}, type(a));
    both(name + "({0})", "tile." + name + "({0})", {a}, type(a));
  }

  /// An operand as it fits the full tile.
  std::string fitted(int value, int place) const {
    std::string text = fmt::format("{{{}}}", place);
    if (type(value).rank() != 1 || shape_ == Shape::Line || shape_ == Shape::Fold) return text;
    return text + (type(value).dims[0] == m_ ? "[:, None]" : "[None, :]");
  }

  void binary() {
    static constexpr const char* of_floats[] = {"({} + {})", "({} - {})", "({} * {})", "({} * {})", "({} / {})"};
    static constexpr const char* of_integers[] = {"({} + {})", "({} - {})", "({} * {})"};
    static constexpr const char* named[] = {"minimum({}, {})", "maximum({}, {})"};
    int a = any_tile(), b = any_tile();
    if (a < 0 || b < 0 || type(a).dtype != type(b).dtype || type(a).dtype == DType::Bool) return;
    bool same = type(a).dims == type(b).dims;
    // On tensors of three axes a row and a column make two.
    if (shape_ == Shape::Batch && !same && type(a).dims != full() && type(b).dims != full()) return;
    ValueType result = same ? type(a) : ValueType{full(), type(a).dtype};
    std::string x = same ? "{0}" : fitted(a, 0), y = same ? "{1}" : fitted(b, 1);
    if (random_.one_in(5)) y = literal(random_, type(a).dtype), result = type(a), x = "{0}", b = -1;
    std::vector<int> operands{a};
    if (b >= 0) operands.push_back(b);
    auto text_of = [&](std::string_view pattern) { return fmt::format(fmt::runtime(pattern), x, y); };
    if (random_.one_in(4)) {
      std::string text = text_of(random_.of(named));
      return (void)both(text, "tile." + text, operands, result);
    }
    std::string text = text_of(is_float(type(a).dtype) ? random_.of(of_floats) : random_.of(of_integers));
    both(text, text, operands, result);
  }

  int cast(int a, DType to) {
    static constexpr DType dtypes[] = {DType::F32, DType::BF16, DType::F16, DType::I32};
    if (a < 0) {
      a = any_tile();
      to = random_.of(dtypes);
    }
    if (a < 0) return -1;
    int made = add(fmt::format("cast({{0}}, {})", to_string(to)), {a}, {type(a).dims, to});
    program_.nodes.back().tile = fmt::format("tile.cast({{0}}, {})", to_string(to));
    return made;
  }

  /// Along an axis that is whole.
  void reduce() {
    static constexpr const char* kinds[] = {"sum", "max", "min"};
    int a = any_with([&](const ValueType& t) { return t.dims == full() && t.rank() > 1; });
    if (a < 0 || type(a).dtype == DType::Bool) return;
    std::string kind = random_.of(kinds);
    bool narrow = is_float(type(a).dtype) && dtype_info(type(a).dtype).bits < 32;
    if (narrow && kind == "sum") kind = "max";
    std::vector<Dim> shape = type(a).dims;
    size_t along = shape_ == Shape::Columns ? 0 : shape.size() - 1;
    const auto& axes = program_.kernel->axes;
    bool whole = std::any_of(axes.begin(), axes.end(), [&](const auto& axis) { return axis.extent == shape[along] && axis.whole; });
    if (!whole) return;
    if (shape_ == Shape::Batch) {
      // One more axis on tensors than on tiles; the result is kept as a tile of the full rank.
      add(fmt::format("broadcast_to({}({{0}}, axis=2, keepdims=True), (3, {}, {}))", kind, m_->text, n_->text),
                     {a}, type(a));
      program_.nodes.back().tile = fmt::format("tile.broadcast(tile.{}({{0}}, axis=1)[:, None], (t.m, t.n))", kind);
      return;
    }
    shape.erase(shape.begin() + std::ptrdiff_t(along));
    both(fmt::format("{}({{0}}, axis={})", kind, along), fmt::format("tile.{}({{0}}, axis={})", kind, along), {a},
         {shape, type(a).dtype});
  }

  void choose() {
    int a = any_tile();
    if (a < 0 || type(a).dtype == DType::Bool) return;
    std::string other = literal(random_, type(a).dtype);
    bool has_rows = type(a).dims == full() && shape_ != Shape::Line && shape_ != Shape::Fold;
    if (has_rows && random_.one_in(2)) return mask(a, other);
    both(fmt::format("where({{0}} > {}, {{0}}, {})", other, other), fmt::format("tile.where({{0}} > {}, {{0}}, {})", other, other),
         {a}, type(a));
  }

  /// Of what row and column an element lies in.
  void mask(int a, const std::string& other) {
    static constexpr const char* comparisons[] = {"{} >= {}", "{} < {}", "{} == {}", "{} - {} < 7"};
    std::string comparison = random_.of(comparisons);
    auto compared = [&](const std::string& rows, const std::string& columns) {
      return fmt::format(fmt::runtime(comparison), rows, columns);
    };
    std::string rows = fmt::format("arange({}, i32)[:, None]", m_->text), columns = fmt::format("arange({}, i32)[None, :]", n_->text);
    // With three axes the first is neither rows nor columns.
    bool named = shape_ != Shape::Batch && random_.one_in(2);
    std::string on_tiles = named ? compared("tile.row_index()", "tile.col_index()")
                                 : compared("tile.arange(t.m, $m)[:, None]", "tile.arange(t.n, $n)[None, :]");
    both(fmt::format("where({}, {{0}}, {})", compared(rows, columns), other),
         fmt::format("tile.where({}, {{0}}, {})", on_tiles, other), {a}, type(a));
  }

  void choose_results(int first) {
    int last = -1;
    for (int i = count() - 1; i >= first && last < 0; --i) {
      if (!node(i).is_argument() && type(i).dims == full() && type(i).dtype != DType::Bool) last = i;
    }
    if (last < 0) {
      last = add("({0} + {0})", {0}, type(0));
      bool narrow = is_float(type(0).dtype) && dtype_info(type(0).dtype).bits < 32;
      if (narrow) program_.nodes.back().text = fmt::format("cast({{0}} + {{0}}, {})", to_string(type(0).dtype));
      program_.nodes.back().tile = "({0} + {0})";
    }
    program_.results.push_back(last);
    if (made_ >= 0 && made_ != last) program_.results.push_back(made_);
    for (int i = last - 1; i >= first && program_.results.size() < 2; --i) {
      if (!node(i).is_argument() && type(i).dims == full() && type(i).dtype != DType::Bool && random_.one_in(4)) {
        program_.results.push_back(i);
      }
    }
    if (shape_ != Shape::Batch) return;
    for (int& result : program_.results) {
      ValueType same = type(result);
      result = add("{0}", {result}, same);
      program_.nodes.back().tile = "{0}[None, :, :]";
    }
  }

  void choose_schedules() {
    static constexpr int64_t blocks[] = {4, 5, 8, 12, 16, 24, 32, 48, 64};
    for (int i = 0; i < 2; ++i) {
      std::string text;
      for (const KernelForm::Axis& axis : program_.kernel->axes) {
        if (axis.whole) continue;
        int64_t extent = shape_ == Shape::Line ? random_.of(blocks) * 8 : random_.of(blocks);
        text += fmt::format("{}B{}={}", text.empty() ? "" : ", ", char(axis.name[0] - 'a' + 'A'), extent);
      }
      if (random_.one_in(3)) text += fmt::format(", warps={}", random_.one_in(2) ? 4 : 8);
      if (random_.one_in(4)) text += fmt::format(", unroll={}", 1 + random_.pick(4));
      if (shape_ == Shape::Product) {
        static constexpr const char* packings[] = {"none", "a", "b", "both"};
        if (random_.one_in(2)) text += fmt::format(", packing=\"{}\"", random_.of(packings));
        if (random_.one_in(3)) text += fmt::format(", stages={}", 1 + random_.pick(3));
      }
      program_.kernel->schedules.push_back("Schedule(" + text + ")");
    }
  }

  void choose_samples() {
    static constexpr int64_t extents[] = {1, 2, 5, 8, 16, 17, 31, 33, 50, 64, 65, 97, 130};
    for (int i = 0; i < 3; ++i) {
      DimValues values;
      for (const char* name : {"M", "N", "K"}) values[name] = random_.of(extents);
      program_.samples.push_back(std::move(values));
    }
  }

  Shape shape_ = Shape::Line;
  Dim b_ = nullptr, m_ = nullptr, n_ = nullptr, k_ = nullptr;
  DType dtype_ = DType::F32;
  int made_ = -1;  ///< what a loop along k gives
};

}  // namespace

Program random_kernel(uint64_t seed) { return KernelGenerator(seed).generate(); }

}  // namespace tessera::check
