// Random kernels. Each value is written twice: on tiles, and on the whole tensors that the tiles are parts of, where
// every op on a narrow dtype is followed by the cast that tiles round with.

#include <fmt/format.h>

#include <algorithm>

#include "check/generate.h"
#include "check/kernel_parts.h"

namespace tessera::check {

namespace {

class KernelGenerator : public KernelParts {
 public:
  explicit KernelGenerator(uint64_t seed) : KernelParts(seed) {}

  Program generate() {
    static constexpr Shape shapes[] = {Shape::Line, Shape::Blocks, Shape::Rows, Shape::Rows, Shape::Columns,
                                       Shape::Product, Shape::Product, Shape::Fold, Shape::Fold, Shape::Attention,
                                       Shape::Batch};
    shape_ = random_.of(shapes);
    program_.kernel.emplace();
    make_axes();
    make_arguments();
    size_t ops = 1 + random_.pick(8), first = size_t(count());
    if (shape_ == Shape::Product) product();
    if (shape_ == Shape::Fold) fold();
    if (shape_ == Shape::Attention) attention();
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
    if (shape_ == Shape::Attention) n_ = number(8 * (1 + int64_t(random_.pick(3))));
    k_ = extent("K", random_.of(ks));
    if (shape_ == Shape::Batch) axis("b", b_ = number(3), true);
    if (shape_ != Shape::Line) axis("m", m_, shape_ == Shape::Columns);
    if (shape_ != Shape::Fold) axis("n", n_, is_whole_rows() || (shape_ == Shape::Batch && random_.one_in(2)));
    bool loops = shape_ == Shape::Product || shape_ == Shape::Fold || shape_ == Shape::Attention;
    if (loops) axis("k", k_, false);
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
    if (random_.one_in(10)) read_region();
  }

  void step() {
    switch (random_.pick(14)) {
      case 0:
      case 1: return unary();
      case 2:
      case 3:
      case 4: return binary();
      case 5: return reduce();
      case 6: return choose();
      case 7: return scan();
      case 8: return gather();
      case 9: return branch();
      case 10: return keep();
      case 11: return random_.one_in(3) ? random_numbers() : scan();
      case 12: return sort();
      default: return (void)cast(-1, DType::F32);
    }
  }

  void unary() {
    static constexpr const char* of_floats[] = {"exp",  "exp2",       "tanh",   "sigmoid", "relu", "abs",   "silu",
                                                "gelu", "erf",        "erfinv", "floor",   "ceil", "rsqrt", "sqrt",
                                                "log",  "reciprocal", "expm1",  "log1p",   "log2"};
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
    bool whole = std::any_of(axes.begin(), axes.end(),
                             [&](const auto& axis) { return axis.extent == shape[along] && axis.whole; });
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
    both(fmt::format("where({{0}} > {}, {{0}}, {})", other, other),
         fmt::format("tile.where({{0}} > {}, {{0}}, {})", other, other), {a}, type(a));
  }

  /// Of what row and column an element lies in.
  void mask(int a, const std::string& other) {
    static constexpr const char* comparisons[] = {"{} >= {}", "{} < {}", "{} == {}", "{} - {} < 7"};
    std::string comparison = random_.of(comparisons);
    auto compared = [&](const std::string& rows, const std::string& columns) {
      return fmt::format(fmt::runtime(comparison), rows, columns);
    };
    std::string rows = fmt::format("arange({}, i32)[:, None]", m_->text),
                columns = fmt::format("arange({}, i32)[None, :]", n_->text);
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
    if (made_ >= 0 && made_ != last && type(made_).dims == full()) program_.results.push_back(made_);
    other_rank(first);
    for (int i = last - 1; i >= first && program_.results.size() < 2; --i) {
      if (!node(i).is_argument() && type(i).dims == full() && type(i).dtype != DType::Bool && random_.one_in(4)) {
        program_.results.push_back(i);
      }
    }
    if (shape_ == Shape::Batch) {
      for (int& result : program_.results) {
        ValueType same = type(result);
        result = add("{0}", {result}, same);
        program_.nodes.back().tile = "{0}[None, :, :]";
      }
    }
    if (region_ >= 0 || random_.one_in(4)) write_region(last);
  }

  bool is_whole_rows() const { return shape_ == Shape::Rows || shape_ == Shape::Attention; }

  /// Whether the value is made of a tile along both axes that is loaded, which makes a program take the one axis whole.
  bool takes_whole_rows(int value) const {
    if (node(value).is_argument()) return type(value).dims == full();
    for (size_t i = 0; i < node(value).operands.size(); ++i) {
      bool is_loaded = node(value).tile.find(fmt::format("{{{}}}", i)) != std::string::npos;
      if (is_loaded && takes_whole_rows(node(value).operands[i])) return true;
    }
    return false;
  }

  /// A result of the one axis of the grid.
  void other_rank(int first) {
    bool one_axis = is_whole_rows() || shape_ == Shape::Columns;
    Dim axis = shape_ == Shape::Columns ? n_ : m_;
    for (int i = count() - 1; one_axis && i >= first; --i) {
      bool fits = type(i).rank() == 1 && type(i).dims[0] == axis && type(i).dtype != DType::Bool;
      if (node(i).is_argument() || !fits || random_.one_in(4)) continue;
      if (!takes_whole_rows(program_.results.front())) return;
      program_.results.push_back(i);
      return;
    }
  }

  void choose_schedules() {
    static constexpr int64_t blocks[] = {4, 5, 8, 12, 16, 24, 32, 48, 64};
    for (int i = 0; i < 2; ++i) {
      std::string text;
      for (const KernelForm::Axis& axis : program_.kernel->axes) {
        if (axis.whole) continue;
        int64_t extent = shape_ == Shape::Line ? random_.of(blocks) * 8 : random_.of(blocks);
        if (axis.extent == k_ && block_of_k_ != 0) extent = block_of_k_;
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
      for (const char* name : {"M", "N", "K"}) values[name] = random_.one_in(20) ? 0 : random_.of(extents);
      program_.samples.push_back(std::move(values));
    }
  }
};

}  // namespace

Program random_kernel(uint64_t seed) { return KernelGenerator(seed).generate(); }

}  // namespace tessera::check
