#include "check/kernel_parts.h"

#include <fmt/format.h>

namespace tessera::check {

std::vector<Dim> KernelParts::full() const {
  switch (shape_) {
    case Shape::Line:
      return {n_};
    case Shape::Fold:
      return {m_};
    case Shape::Batch:
      return {b_, m_, n_};
    default:
      return {m_, n_};
  }
}

Fill KernelParts::some_fill() {
  static constexpr Fill fills[] = {Fill::Uniform, Fill::Uniform, Fill::Integers, Fill::Wide, Fill::Special};
  return random_.of(fills);
}

int KernelParts::both(const std::string& on_tensors, const std::string& on_tiles, std::vector<int> operands,
                      ValueType type) {
  bool rounds = is_float(type.dtype) && dtype_info(type.dtype).bits < 32;
  std::string text = rounds ? fmt::format("cast({}, {})", on_tensors, to_string(type.dtype)) : on_tensors;
  int made = add(text, std::move(operands), std::move(type));
  program_.nodes.back().tile = on_tiles;
  return made;
}

int KernelParts::stated(const std::string& on_tensors, std::string statements, std::vector<int> operands,
                        ValueType type) {
  int made = add(on_tensors, std::move(operands), std::move(type));
  program_.nodes.back().tile = std::move(statements);
  return made;
}

int KernelParts::any_tile() {
  return any_with([&](const ValueType& t) {
    return (t.dims == full()) || (t.rank() == 1 && (t.dims[0] == m_ || t.dims[0] == n_));
  });
}

int KernelParts::plain_tile() {
  return any_with([&](const ValueType& t) {
    return t.dims == full() && (t.dtype == DType::F32 || t.dtype == DType::F64 || t.dtype == DType::I32);
  });
}

std::string KernelParts::load_of_product(const std::string& operand, bool left) const {
  return fmt::format("tile.load({}, {})", operand, left ? "($m, k), (t.m, t.k)" : "(k, $n), (t.k, t.n)");
}

/// The loop of a product through slots that are filled ahead. With two slots more than tiles ahead, or one and a second
/// barrier, none is filled while it is read.
std::string KernelParts::ring(int64_t slots, const std::string& start) const {
  bool again = slots < 3 || slots % 2 == 0;
  int64_t ahead = slots - (again ? 1 : 2);
  std::string dtype(to_string(dtype_)), text = "    {r} = " + start + "\n";
  text += fmt::format("    {{r}}a = tile.alloc(({0}, t.m, t.k), {1})\n    {{r}}b = tile.alloc(({0}, t.k, t.n), {1})\n",
                      slots, dtype);
  auto copies = [](const std::string& indent, const std::string& k) {
    return fmt::format(
        "{0}tile.async_copy({{@0}}, ($m, {1}), {{r}}a[{1}])\n"
        "{0}tile.async_copy({{@1}}, ({1}, $n), {{r}}b[{1}])\n",
        indent, k);
  };
  for (int64_t k = 0; k < ahead; ++k) text += copies("    ", fmt::format("{}", k));
  text += fmt::format("    for k in tile.range({}, t.k):\n", k_->text);
  text += copies("        ", ahead ? fmt::format("k + {}", ahead) : "k");
  text += fmt::format("        tile.wait(pending={})\n        tile.barrier()\n", 2 * ahead);
  text += "        {r} = tile.dot(tile.load({r}a[k]), tile.load({r}b[k]), {r})\n";
  if (again) text += "        tile.barrier()\n";
  return text + "    tile.wait()\n";
}

void KernelParts::product() {
  DType sum = dtype_ == DType::F64 ? DType::F64 : DType::F32;
  Fill fill = random_.one_in(2) ? Fill::Integers : Fill::Uniform;
  int a = argument({{m_, k_}, dtype_}, fill), b = argument({{k_, n_}, dtype_}, fill);
  std::string start = fmt::format("tile.zeros((t.m, t.n), {})", to_string(sum));
  // Now and then the first block of b in each iteration.
  bool same_block = random_.one_in(8);
  std::string right = same_block ? "tile.load({@1}, (0, $n), (t.k, t.n))" : load_of_product("{@1}", false);
  std::string on_tensors = same_block ? "take({1}, " + place_in_block() + ")" : "{1}";
  std::string loop =
      fmt::format("    {{r}} = {}\n    for k in tile.range({}, t.k):\n        {{r}} = tile.dot({}, {}, {{r}})\n", start,
                  k_->text, load_of_product("{@0}", true), right);
  // Four slots of blocks of 64 doubles would be more shared memory than there is.
  if (!same_block && random_.one_in(4)) loop = ring(1 + int64_t(random_.pick(dtype_ == DType::F64 ? 2 : 4)), start);
  int made = stated(fmt::format("cast({{0}} @ {}, {})", on_tensors, to_string(sum)), loop, {a, b}, {{m_, n_}, sum});
  made_ = made;
  if (sum == dtype_) return;
  made_ = add(fmt::format("cast({{0}}, {})", to_string(dtype_)), {made}, {{m_, n_}, dtype_});
  program_.nodes.back().tile = fmt::format("tile.cast({{0}}, {})", to_string(dtype_));
}

std::string KernelParts::place_in_block() {
  static constexpr int64_t blocks[] = {4, 5, 8, 16, 32};
  if (block_of_k_ == 0) block_of_k_ = random_.of(blocks);
  return fmt::format("(arange({}, i32) % {})", k_->text, block_of_k_);
}

/// Each tile times the first of a line, or times the places of its elements in the block.
void KernelParts::fold_with_part() {
  Fill fill = random_.one_in(2) ? Fill::Integers : Fill::Uniform;
  std::vector<int> operands = {argument({{m_, k_}, dtype_}, fill)};
  std::string part = fmt::format("tile.cast(tile.arange(t.k), {})", to_string(dtype_));
  std::string on_tensors = fmt::format("cast({}, {})", place_in_block(), to_string(dtype_));
  if (random_.one_in(2)) {
    operands.push_back(argument({{k_}, dtype_}, fill));
    part = "tile.load({@1}, (0,), (t.k,))";
    on_tensors = "take({1}, " + place_in_block() + ")";
  }
  made_ = stated(
      fmt::format("sum({{0}} * {}[None, :], axis=1)", on_tensors),
      fmt::format("    {{r}} = tile.zeros((t.m,), {})\n    for k in tile.range({}, t.k):\n"
                  "        {{r}} = {{r}} + tile.sum(tile.load({{@0}}, ($m, k), (t.m, t.k)) * {}[None, :], axis=1)\n",
                  to_string(dtype_), k_->text, part),
      operands, {{m_}, dtype_});
}

/// Each tile times each other, in two loops over one axis.
void KernelParts::fold_of_pairs() {
  int a = argument({{m_, k_}, dtype_}, random_.one_in(2) ? Fill::Integers : Fill::Uniform);
  std::string place = place_in_block();
  made_ = stated(fmt::format("sum(where({0}[:, None] == {0}[None, :], {{0}}[:, :, None] * {{0}}[:, None, :], 0), "
                             "axis=(1, 2))",
                             place),
                 fmt::format("    {{r}} = tile.zeros((t.m,), {0})\n    for j in tile.range({1}, t.k):\n"
                             "        for k in tile.range({1}, t.k):\n"
                             "            {{r}} = {{r}} + tile.sum(tile.load({{@0}}, ($m, j), (t.m, t.k)) * "
                             "tile.load({{@0}}, ($m, k), (t.m, t.k)), axis=1)\n",
                             to_string(dtype_), k_->text),
                 {a}, {{m_}, dtype_});
}

void KernelParts::fold() {
  bool sums = dtype_ == DType::F32 || dtype_ == DType::F64 || dtype_ == DType::I32;
  if (sums && random_.one_in(4)) return random_.one_in(3) ? fold_of_pairs() : fold_with_part();
  std::vector<int> operands = {argument({{m_, k_}, dtype_}, some_fill())};
  bool most = !sums || random_.one_in(2);
  std::string least = is_float(dtype_) ? "-INF" : "-2147483648", none = most ? least : "0";
  std::string start =
      fmt::format("tile.full((t.m,), {}, {})", is_float(dtype_) && !most ? "0.0" : none, to_string(dtype_));
  std::string range, inside, on_tensors = "{0}", tile = "tile.load({@0}, ($m, k), (t.m, t.k))";
  if (random_.one_in(4)) {
    on_tensors = fmt::format("take({{0}}, (arange({0}, i32) + 3) % {0}, axis=1)", k_->text);
    tile = fmt::format("tile.gather({{@0}}, (tile.arange(t.m, $m)[:, None], (tile.arange(t.k, k)[None, :] + 3) % {}))",
                       k_->text);
  }
  switch (random_.pick(4)) {
    case 0:
      for (int i = 0; i < 2; ++i) {
        operands.push_back(argument({{}, DType::I64}, Fill::Below));
        program_.nodes.back().salt = 10 + random_.pick(60);
      }
      range = ", start=tile.load({@1}), stop=tile.load({@2})";
      inside = "(tile.arange(t.k, k)[None, :] >= tile.load({@1})) & (tile.arange(t.k, k)[None, :] < tile.load({@2}))";
      on_tensors =
          fmt::format("where((arange({0}, i64)[None, :] >= {{1}}) and (arange({0}, i64)[None, :] < {{2}}), {2}, {1})",
                      k_->text, none, on_tensors);
      break;
    case 1:
      range = ", stop=($m + 1) * t.m";
      inside = "tile.arange(t.k, k)[None, :] <= tile.arange(t.m, $m)[:, None]";
      on_tensors = fmt::format("where(arange({}, i32)[None, :] <= arange({}, i32)[:, None], {}, {})", k_->text,
                               m_->text, on_tensors, none);
      break;
    default:
      break;
  }
  if (!inside.empty()) tile = fmt::format("tile.where({}, {}, {})", inside, tile, none);
  std::string step = most ? fmt::format("tile.maximum({{r}}, tile.max({}, axis=1))", tile)
                          : fmt::format("{{r}} + tile.sum({}, axis=1)", tile);
  made_ = stated(fmt::format("{}({}, axis=1)", most ? "max" : "sum", on_tensors),
                 fmt::format("    {{r}} = {}\n    for k in tile.range({}, t.k{}):\n        {{r}} = {}\n", start,
                             k_->text, range, step),
                 operands, {{m_}, dtype_});
}

void KernelParts::attention() {
  int q = argument({{m_, n_}, DType::F32}, Fill::Uniform);
  int k = argument({{k_, n_}, DType::F32}, random_.one_in(3) ? Fill::Integers : Fill::Uniform);
  int v = argument({{k_, n_}, DType::F32}, Fill::Uniform);
  std::string rows = "tile.arange(t.m, $m)[:, None]", keys = "tile.arange(t.k, k)[None, :]", scores, bias;
  std::string all_rows = fmt::format("arange({}, i32)[:, None]", m_->text);
  std::string all_keys = fmt::format("arange({}, i32)[None, :]", k_->text);
  switch (random_.pick(4)) {
    case 0:
      scores = fmt::format("        {{r}}s = {{r}}s + tile.cast({} - {}, f32) * 0.125\n", keys, rows);
      bias = fmt::format(", bias=cast({} - {}, f32) * 0.125", all_keys, all_rows);
      break;
    case 1:
      scores = fmt::format("        {{r}}s = tile.where({} <= {} + 2, {{r}}s, -INF)\n", keys, rows);
      bias = fmt::format(", bias=where({} <= {} + 2, 0.0, -INF)", all_keys, all_rows);
      break;
    case 2:
      scores = "        tile.mask_causal({r}s, tile.arange(t.m, $m)[:, None], tile.arange(t.k, k)[None, :])\n";
      bias = fmt::format(", bias=where({} <= {}, 0.0, -INF)", all_keys, all_rows);
      break;
    default:
      break;
  }
  auto whole = [](const std::string& value, Dim extent, Dim width) {
    return fmt::format("reshape({}, (1, 1, {}, {}))", value, extent->text, width->text);
  };
  made_ = stated(fmt::format("reshape(flash_attention({}, {}, {}, scale=0.25{}), ({}, {}))", whole("{0}", m_, n_),
                             whole("{1}", k_, n_), whole("{2}", k_, n_), bias, m_->text, n_->text),
                 fmt::format("    {{r}} = tile.zeros((t.m, t.n), f32)\n    {{r}}m = tile.full((t.m,), -INF)\n"
                             "    {{r}}l = tile.zeros((t.m,), f32)\n    for k in tile.range({}, t.k):\n"
                             "        {{r}}s = tile.dot({{0}}, tile.load({{@1}}, (k, 0), (t.k, t.n)).T) * 0.25\n{}"
                             "        {{r}}p, {{r}}top, {{r}}sum = tile.softmax_online({{r}}s)\n"
                             "        {{r}}, {{r}}m, {{r}}l = tile.softmax_accumulate({{r}}, {{r}}m, {{r}}l, {{r}}p, "
                             "tile.load({{@2}}, (k, 0), (t.k, t.n)), {{r}}top, {{r}}sum)\n"
                             "    {{r}} = {{r}} / {{r}}l[:, None]\n",
                             k_->text, scores),
                 {q, k, v}, {{m_, n_}, DType::F32});
}

/// Along an axis that is whole.
void KernelParts::scan() {
  int a = plain_tile();
  if (a < 0 || (shape_ != Shape::Rows && shape_ != Shape::Columns && shape_ != Shape::Attention)) return;
  bool along_rows = shape_ != Shape::Columns;
  std::string extent = (along_rows ? n_ : m_)->text;
  bool sums = random_.one_in(2), reverse = random_.one_in(3), exclusive = sums && random_.one_in(3);
  std::string other = !is_float(type(a).dtype) ? (sums ? "0" : "-2147483648") : sums ? "-0.0" : "-INF";
  std::string compare = reverse ? (exclusive ? "<" : "<=") : exclusive ? ">" : ">=";
  // Element i is the sum of those of row i of a square of masked copies.
  std::string lines = along_rows ? "{0}" : "{0}.T";
  std::string on_tensors =
      fmt::format("{}(where(arange({}, i32)[:, None] {} arange({}, i32)[None, :], {}[:, None, :], {}), axis=-1)",
                  sums ? "sum" : "max", extent, compare, extent, lines, other);
  std::string flags = std::string(reverse ? ", reverse=True" : "") + (exclusive ? ", exclusive=True" : "");
  std::string on_tiles =
      fmt::format("tile.scan({{0}}, axis={}{}{}", int(along_rows), sums ? "" : ", kind=\"max\"", flags);
  if (!along_rows) on_tensors += ".T";
  if (!random_.one_in(3)) return (void)stated(on_tensors, on_tiles + ")", {a}, type(a));
  std::string all = fmt::format("{}({{0}}, axis={})", sums ? "sum" : "max", int(along_rows));
  std::string column = along_rows ? "[:, None]" : "[None, :]";
  stated("maximum(" + on_tensors + ", " + all + column + ")",
         "    {r}, {r}all = " + on_tiles + ", total=True)\n    {r} = tile.maximum({r}, {r}all" + column + ")\n", {a},
         type(a));
}

/// Along an axis that is whole, of known extent. On tensors element i is the one with i others before it.
void KernelParts::sort() {
  int a = any_with([&](const ValueType& t) { return t.dims == full() && t.dtype != DType::Bool; });
  if (a < 0 || (shape_ != Shape::Rows && shape_ != Shape::Columns && shape_ != Shape::Attention)) return;
  bool along_rows = shape_ != Shape::Columns;
  Dim extent = along_rows ? n_ : m_;
  if (!extent->constant()) return;
  bool descending = random_.one_in(2);
  std::string back = along_rows ? "" : ".T";
  std::string places = fmt::format("arange({}, i64)", extent->text);
  if (descending) places = fmt::format("({} - 1 - {})", extent->text, places);
  bool is_real = is_float(type(a).dtype);
  // -0 is less than 0: the sign of a zero is that of its reciprocal.
  std::string zero = is_real ? "where({r}x == 0.0, 1.0 / cast({r}x, f32), 0.0)" : "zeros({r}x.shape, f32)";
  std::string on_tensors = fmt::format(
      "    {{r}}x = {{0}}{0}\n"
      "    {{r}}z = {4}\n"
      "    {{r}}j, {{r}}i = {{r}}x[:, :, None], {{r}}x[:, None, :]\n"
      "    {{r}}zj, {{r}}zi = {{r}}z[:, :, None], {{r}}z[:, None, :]\n"
      "    {{r}}same = ({{r}}j == {{r}}i and {{r}}zj == {{r}}zi) or ({{r}}j != {{r}}j and {{r}}i != {{r}}i)\n"
      "    {{r}}less = ({{r}}j < {{r}}i) or ({{r}}i != {{r}}i and {{r}}j == {{r}}j)\n"
      "    {{r}}less = {{r}}less or ({{r}}j == {{r}}i and {{r}}zj < {{r}}zi)\n"
      "    {{r}}less = {{r}}less or ({{r}}same and (arange({1}, i64)[:, None] < arange({1}, i64)[None, :]))\n"
      "    {{r}}place = sum(cast({{r}}less, i64), axis=-2)[:, None, :]\n"
      "    {{r}} = max(where({{r}}place == {2}[:, None], {{r}}i, {3}), axis=-1){0}\n",
      back, extent->text, places, is_real ? "-INF" : "-2147483648", zero);
  const char* order = descending ? ", descending=True" : "";
  stated(on_tensors, fmt::format("tile.sort({{0}}, axis={}{})", int(along_rows), order), {a}, type(a));
}

void KernelParts::gather() {
  if (!is_plane()) return;
  if (random_.one_in(2)) {
    int table = argument({{number(1 + int64_t(random_.pick(9))), n_}, dtype_}, some_fill());
    int rows = argument({{m_}, DType::I32}, Fill::Indices);
    // A GPU's tiles of few columns are wider than the table.
    bool whole = !n_->constant() && random_.one_in(2);
    std::string tile = whole ? "tile.gather({@0}, {1})" : "tile.gather({@0}, ({1}[:, None], tile.col_index()))";
    // A kernel that names no extent of an axis takes one element of it.
    return (void)stated("{0}[{1}]", "tile.broadcast(" + tile + ", (t.m, t.n))", {table, rows}, {{m_, n_}, dtype_});
  }
  int a = any_with([&](const ValueType& t) { return t.dims == full() && t.dtype == dtype_; });
  if (a < 0 || !node(a).is_argument() || a == region_) return;
  int64_t by = int64_t(random_.pick(7));
  if (random_.one_in(2)) {
    return (void)stated(
        fmt::format("take({{0}}, (arange({0}, i32) + {1}) % {0}, axis=1)", n_->text, by),
        fmt::format("tile.gather({{@0}}, (tile.row_index(), (tile.col_index() + {1}) % {0}))", n_->text, by), {a},
        type(a));
  }
  stated(fmt::format("take({{0}}, {} - 1 - arange({}, i32))", m_->text, m_->text),
         fmt::format("tile.gather({{@0}}, ({} - 1 - tile.row_index(), tile.col_index()))", m_->text), {a}, type(a));
}

void KernelParts::branch() {
  int a = plain_tile();
  if (a < 0) return;
  int flag = argument({{}, DType::I32}, Fill::Integers);
  std::string two = is_float(type(a).dtype) ? "2.0" : "2", one = is_float(type(a).dtype) ? "1.0" : "1";
  std::string otherwise = random_.one_in(2) ? "{0} - " + one : "{0}";
  std::string text = fmt::format("    {{r}} = {{0}}\n    if tile.load({{@1}}) > 1:\n        {{r}} = {{0}} * {}\n", two);
  if (otherwise != "{0}") text += "    else:\n        {r} = " + otherwise + "\n";
  stated(fmt::format("where({{1}} > 1, {{0}} * {}, {})", two, otherwise), text, {a, flag}, type(a));
}

void KernelParts::random_numbers() {
  int a = any_with([&](const ValueType& t) { return t.dims == full() && t.dtype == DType::F32; });
  if (a < 0 || !is_plane()) return;
  int seed = argument({{}, DType::U64}, Fill::Wide);
  // Philox4x32-10 on words in the lower halves of u64, as docs/numerics.md has it.
  std::string words = fmt::format(
      "    {{r}}i = arange({0}, u64)[:, None] * {1} + arange({1}, u64)[None, :]\n"
      "    {{r}}a, {{r}}b, {{r}}c, {{r}}d = ({{r}}i >> 2) & 4294967295, {{r}}i >> 34, {{r}}i & 0, {{r}}i & 0\n"
      "    {{r}}k, {{r}}l = ({{1}} ^ 5) & 4294967295, ({{1}} ^ 5) >> 32\n"
      "    for iteration in range(10):\n"
      "        {{r}}p, {{r}}q = {{r}}a * 3528531795, {{r}}c * 3449720151\n"
      "        {{r}}a, {{r}}c = ({{r}}q >> 32) ^ {{r}}b ^ {{r}}k, ({{r}}p >> 32) ^ {{r}}d ^ {{r}}l\n"
      "        {{r}}b, {{r}}d = {{r}}q & 4294967295, {{r}}p & 4294967295\n"
      "        {{r}}k, {{r}}l = ({{r}}k + 2654435769) & 4294967295, ({{r}}l + 3144134277) & 4294967295\n"
      "    {{r}}e, {{r}}o = where(({{r}}i & 2) == 0, {{r}}a, {{r}}c), where(({{r}}i & 2) == 0, {{r}}b, {{r}}d)\n"
      "    {{r}} = cast(where(({{r}}i & 1) == 0, {{r}}e, {{r}}o) >> 8, f32) * 5.9604644775390625e-08\n",
      m_->text, n_->text);
  if (random_.one_in(2)) {
    std::string number = fmt::format("tile.row_index() * {} + tile.col_index()", n_->text);
    return (void)stated(words, "tile.uniform(tile.load({@1}), " + number + ", stream=5)", {a, seed}, type(a));
  }
  stated(words + "    {r} = where({r} >= 0.25, {0} * 1.3333333333333333, 0.0)\n",
         "dropout_in_kernel({0}, p=0.25, seed=tile.load({@1}), stream=5)", {a, seed}, type(a));
}

void KernelParts::keep() {
  int a = any_with([&](const ValueType& t) { return t.dims == full() && t.dtype != DType::Bool; });
  if (a < 0 || shape_ != Shape::Blocks) return;
  std::string dtype(to_string(type(a).dtype));
  if (random_.one_in(2)) {
    return (void)stated("({0})",
                        fmt::format("    {{r}}s = tile.alloc((t.m, t.n), {})\n    tile.store({{0}}, {{r}}s)\n"
                                    "    tile.barrier()\n    {{r}} = tile.load({{r}}s)\n",
                                    dtype),
                        {a}, type(a));
  }
  both("maximum({0}, ({0} + {0}))",
       fmt::format("    {{r}}s = tile.alloc((2, t.m, t.n), {})\n    tile.store({{0}}, {{r}}s[0])\n"
                   "    tile.store({{0}} + {{0}}, {{r}}s[3])\n    tile.barrier()\n"
                   "    {{r}} = tile.maximum(tile.load({{r}}s[2]), tile.load({{r}}s[1]))\n",
                   dtype),
       {a}, type(a));
}

void KernelParts::read_region() {
  region_ = argument({full(), dtype_}, Fill::Uniform);
  program_.nodes.back().privilege = "read_write";
}

int KernelParts::store(const std::string& privilege, const std::string& on_tensors, const std::string& statement,
                       int value, int region) {
  program_.nodes[size_t(region)].privilege = privilege;
  int made = stated(on_tensors, "    " + statement + "\n", {value, region}, type(region));
  program_.nodes.back().stores = true;
  program_.results.push_back(made);
  return made;
}

void KernelParts::write_region(int value) {
  const ValueType result = type(value);
  if (region_ >= 0) {
    int whole = any_with([&](const ValueType& t) { return t == type(region_); });
    if (whole < 0) whole = region_;
    store("read_write", "({0})",
          shape_ == Shape::Batch ? "tile.store({0}, {@1}, ($b, $m, $n))" : "tile.store({0}, {@1})", whole, region_);
    return;
  }
  bool sums = result.dtype == DType::F32 || result.dtype == DType::F64 || result.dtype == DType::I32;
  bool blocks = shape_ == Shape::Blocks || shape_ == Shape::Rows || shape_ == Shape::Product;
  if (blocks && sums && random_.one_in(2)) {
    int region = argument({{n_}, result.dtype}, Fill::Uniform);
    store("reduce_sum", "sum(concat(({1}[None, :], {0})), axis=0)", "tile.store(tile.sum({0}, axis=0), {@1})", value,
          region);
    return;
  }
  int region = argument(result, Fill::Uniform);
  std::string column = fmt::format("(tile.col_index() + 3) % {}", n_->text);
  if (!is_plane() || random_.one_in(2)) {
    std::string index = shape_ == Shape::Batch ? "tile.store({0}, {@1}, ($b, $m, $n))" : "tile.store({0}, {@1})";
    store("write", "({0})", index, value, region);
  } else if (random_.one_in(2)) {
    store("write", fmt::format("take({{0}}, (arange({0}, i32) - 3) % {0}, axis=1)", n_->text),
          "tile.scatter({0}, {@1}, (tile.row_index(), " + column + "))", value, region);
  } else {
    store("write",
          fmt::format("where(arange({0}, i32)[:, None] >= 2, take({{0}}, arange({0}, i32) - 2), {{1}})", m_->text),
          "tile.scatter({0}, {@1}, (tile.row_index() + 2, tile.col_index()))", value, region);
  }
}

}  // namespace tessera::check
