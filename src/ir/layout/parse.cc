// The reader of layout text: one pass, no recursion. Numbers are at most max_extent and lists at
// most as long as a layout can use, so a text cannot make it allocate more than a layout may take.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/layout/families.h"
#include "ir/layout/text.h"

namespace tessera::layout {

namespace {

constexpr size_t max_list = 64;
constexpr int32_t absent = -1;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Layout> layout() {
    std::string_view family = head();
    std::optional<Layout> layout = family == "wgmma"     ? wgmma()
                                   : family == "mma"     ? mma()
                                   : family == "amx"     ? amx()
                                   : family == "blocked" ? blocked_family()
                                   : family == "layout"  ? general()
                                                         : unknown_family();
    return finish() ? layout : std::nullopt;
  }

  std::optional<SharedLayout> shared() {
    if (head() != "shared") unknown_family();
    size_t extents_at = at_;
    std::vector<int32_t> extents = this->extents();
    Number bytes = required("bytes");
    Number swizzle = key("swizzle") ? placed_number() : Number{};
    Number padding = key("pad") ? placed_number() : Number{};
    Number panel = key("panel") ? placed_number() : Number{};
    size_t order_at = at_;
    std::vector<int> order = this->order();
    if (!finish()) return std::nullopt;
    bool known = swizzle.value == 0 || swizzle.value == 32 || swizzle.value == 64 || swizzle.value == 128;
    bool one_form = (swizzle.value != 0) + (padding.value != 0) + (panel.value != 0) <= 1;
    if (!known) fail_at(swizzle.at, "a swizzle is 32, 64 or 128 bytes wide");
    if (!one_form) fail_at(std::max(padding.at, panel.at), "swizzle, pad and panel exclude each other");
    if (panel.value != 0 && (extents.size() != 2 || !order.empty())) {
      fail_at(panel.at, "panels have two axes in their own order");
    }
    check_power(bytes, "bytes");
    check_between(bytes, 1, panel.value ? 4 : 8, "bytes");
    if (std::count(extents.begin(), extents.end(), 0)) fail_at(extents_at, "an extent must be 1 or more, not 0");
    check_order(order, extents.size(), order_at);
    if (padding.value) {
      check_multiple(padding, bytes.value, "padding");
      check_between(padding, 0, 1024, "padding");
    }
    if (panel.value) {
      check_power(panel, "a panel");
      check_between(panel, 1, 1024, "a panel");
    }
    if (failed()) return std::nullopt;
    std::optional<SharedLayout> layout =
        panel.value != 0     ? SharedLayout::panels(extents[0], extents[1], bytes.value, panel.value)
        : swizzle.value != 0 ? SharedLayout::swizzled(extents, bytes.value, Swizzle(swizzle.value), order)
                             : SharedLayout::rows(extents, bytes.value, order, padding.value);
    if (!layout) fail_at(extents_at, "the tile is too large, or has no axis or too many");
    return layout;
  }

  bool failed() const { return !error_.message.empty(); }
  const TextError& error() const { return error_; }

 private:
  std::nullopt_t fail(std::string message) { return fail_at(at_, std::move(message)); }
  std::nullopt_t fail_at(size_t position, std::string message) {
    if (!failed()) error_ = {std::move(message), position};
    return std::nullopt;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool peek(std::string_view token) {
    skip();
    return text_.substr(at_, token.size()) == token;
  }
  bool take(std::string_view token) {
    bool found = !failed() && peek(token);
    if (found) at_ += token.size();
    return found;
  }
  bool expect(std::string_view token) {
    if (take(token)) return true;
    fail(fmt::format("expected '{}'", token));
    return false;
  }
  std::string_view word() {
    skip();
    size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= 'a' && text_[at_] <= 'z') ++at_;
    return text_.substr(begin, at_ - begin);
  }
  /// A number and its place, for later messages about it.
  struct Number {
    int32_t value = 0;
    size_t at = 0;
  };
  Number placed_number() {
    skip();
    size_t begin = at_;
    int32_t value = number();
    return {value, begin};
  }
  /// A number from 0 to max_extent; 0 after an error.
  int32_t number() {
    skip();
    size_t begin = at_;
    int32_t value = 0;
    while (!failed() && at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = value * 10 + (text_[at_] - '0');
      if (value > max_extent) fail(fmt::format("a number is larger than {}", max_extent));
      ++at_;
    }
    if (at_ == begin) fail("expected a number");
    return failed() ? 0 : value;
  }
  bool is_number() {
    skip();
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }

  std::string_view head() {
    if (!expect("#")) return {};
    std::string_view family = word();
    expect("<");
    return family;
  }
  bool finish() {
    expect(">");
    skip();
    if (!failed() && at_ != text_.size()) fail("expected the end of the layout");
    return !failed();
  }
  std::nullopt_t unknown_family() { return fail("no family of layouts has this name"); }

  /// Takes `, name =`, or nothing.
  bool key(std::string_view name) {
    size_t begin = at_;
    if (take(",") && (skip(), word() == name) && take("=")) return true;
    if (!failed()) at_ = begin;
    return false;
  }
  Number required(std::string_view name) {
    if (key(name)) return placed_number();
    fail(fmt::format("expected ', {} ='", name));
    return {};
  }
  std::vector<int32_t> extents() {
    std::vector<int32_t> extents;
    if (take("scalar")) return extents;
    do {
      extents.push_back(number());
    } while (take("x") && extents.size() < max_list);
    return extents;
  }
  std::vector<int32_t> numbers() {
    std::vector<int32_t> list;
    if (!expect("[") || take("]")) return list;
    do {
      list.push_back(number());
    } while (take(",") && list.size() < max_list);
    expect("]");
    return list;
  }
  std::vector<int> order() {
    if (!key("order")) return {};
    std::vector<int32_t> order = numbers();
    if (order.empty()) fail("an order names no axis");
    return order;
  }

  // The rules of a family's numbers; a message names the first number that breaks one, at its
  // place.
  void check_multiple(Number number, int64_t of, std::string_view what) {
    if (number.value > 0 && of > 0 && number.value % of == 0) return;
    fail_at(number.at, fmt::format("{} must be a multiple of {}, not {}", what, of, number.value));
  }
  void check_between(Number number, int32_t low, int32_t high, std::string_view what) {
    if (number.value >= low && number.value <= high) return;
    fail_at(number.at, fmt::format("{} must be {} to {}, not {}", what, low, high, number.value));
  }
  void check_power(Number number, std::string_view what) {
    if (number.value > 0 && (number.value & (number.value - 1)) == 0) return;
    fail_at(number.at, fmt::format("{} must be a power of two, not {}", what, number.value));
  }
  void check_bits(Number bits, std::initializer_list<int32_t> known) {
    if (std::count(known.begin(), known.end(), bits.value)) return;
    fail_at(bits.at, fmt::format("elements have {} bits, not {}", fmt::join(known, " or "), bits.value));
  }
  std::optional<Layout> fitting(std::optional<Layout> layout) {
    if (!failed() && !layout) fail("the tile is too large for the family");
    return layout;
  }

  struct Fragment {
    std::string_view kind;
    Number rows, columns;
  };
  /// `kind, rows x columns`, of which a row reduction may lack the columns.
  Fragment fragment() {
    Fragment fragment{word(), {}, {}};
    expect(",");
    fragment.rows = placed_number();
    if (fragment.kind == "rows" && !peek("x")) {
      fragment.columns.value = absent;
    } else {
      expect("x");
      fragment.columns = placed_number();
    }
    return fragment;
  }

  std::optional<Layout> wgmma() {
    auto [kind, m, n] = fragment();
    Number warps = required("warps");
    Number bits = kind == "a" && key("bits") ? placed_number() : Number{16, 0};
    if (failed()) return std::nullopt;
    if (kind != "acc" && kind != "a" && kind != "rows") return fail("wgmma has the fragments acc, rows and a");
    check_multiple(warps, 4, "warps");
    check_between(warps, 4, max_warps, "warps");
    check_multiple(m, 16 * warps.value, "rows");
    check_bits(bits, {8, 16, 32});
    if (kind == "rows") {
      if (n.value != 1 && n.value != absent) fail_at(n.at, "a row reduction has one column, or none");
    } else if (!failed()) {
      check_multiple(n, kind == "acc" ? 8 : 256 / bits.value, "columns");
    }
    if (failed()) return std::nullopt;
    if (kind == "acc") return fitting(wgmma_accumulator(m.value, n.value, warps.value));
    if (kind == "a") return fitting(wgmma_operand_a(m.value, n.value, warps.value, bits.value));
    std::optional<Layout> accumulator = wgmma_accumulator(m.value, 8, warps.value);
    if (accumulator) accumulator = accumulator->slice(1, n.value == 1).layout;
    return fitting(accumulator);
  }

  std::optional<Layout> mma() {
    auto [kind, rows, columns] = fragment();
    Number warps_m = required("warps");
    expect("x");
    Number warps_n = placed_number();
    if (failed()) return std::nullopt;
    if (kind != "acc" && kind != "a" && kind != "b") return fail("mma has the fragments acc, a and b");
    check_between(warps_m, 1, max_warps, "warps");
    check_between(warps_n, 1, max_warps, "warps");
    check_multiple(rows, kind == "b" ? 16 : 16 * warps_m.value, "rows");
    check_multiple(columns, kind == "a" ? 16 : 8 * warps_n.value, "columns");
    if (failed()) return std::nullopt;
    int m = warps_m.value, n = warps_n.value;
    if (kind == "acc") return fitting(mma_accumulator(rows.value, columns.value, m, n));
    if (kind == "a") return fitting(mma_operand_a(rows.value, columns.value, m, n));
    return fitting(mma_operand_b(rows.value, columns.value, m, n));
  }

  std::optional<Layout> amx() {
    auto [kind, rows, columns] = fragment();
    Number bits = kind != "acc" && key("bits") ? placed_number() : Number{16, 0};
    if (failed()) return std::nullopt;
    if (kind != "acc" && kind != "a" && kind != "b") return fail("amx has the fragments acc, a and b");
    check_bits(bits, {8, 16});
    if (failed()) return std::nullopt;
    int line = 512 / bits.value;  // elements of a tile register's row
    check_multiple(rows, kind == "b" ? line : 16, "rows");
    check_multiple(columns, kind == "a" ? line : 16, "columns");
    if (failed()) return std::nullopt;
    if (kind == "acc") return fitting(amx_accumulator(rows.value, columns.value));
    if (kind == "a") return fitting(amx_operand_a(rows.value, columns.value, bits.value));
    return fitting(amx_operand_b(rows.value, columns.value, bits.value));
  }

  std::optional<Layout> blocked_family() {
    size_t extents_at = at_;
    std::vector<int32_t> extents = this->extents();
    Number vector = required("vector");
    Number lanes = key("lanes") ? placed_number() : Number{32, 0};
    Number warps = required("warps");
    size_t order_at = at_;
    std::vector<int> order = this->order();
    if (failed()) return std::nullopt;
    if (extents.size() > size_t(max_rank)) fail_at(extents_at, fmt::format("a layout has at most {} axes", max_rank));
    if (std::count(extents.begin(), extents.end(), 0)) fail_at(extents_at, "an extent must be 1 or more, not 0");
    check_power(vector, "a vector");
    check_power(lanes, "lanes");
    check_between(lanes, 1, max_lanes, "lanes");
    check_between(warps, 1, max_warps, "warps");
    check_order(order, extents.size(), order_at);
    if (failed()) return std::nullopt;
    int32_t fastest = extents.empty() ? 1 : order.empty() ? extents.back() : extents[size_t(order[0])];
    if (fastest % vector.value) {
      return fail_at(vector.at, fmt::format("a vector of {} does not divide the fastest axis, which has {}",
                                            vector.value, fastest));
    }
    return fitting(blocked(extents, vector.value, lanes.value, warps.value, order));
  }

  /// A permutation of the axes, or nothing.
  void check_order(std::vector<int> order, size_t rank, size_t at) {
    if (order.empty()) return;
    std::sort(order.begin(), order.end());
    bool permutes = order.size() == rank;
    for (size_t axis = 0; permutes && axis < rank; ++axis) permutes = order[axis] == int(axis);
    if (!permutes) fail_at(at, "the order is not a permutation of the axes");
  }

  std::vector<Point> bases(size_t rank) {
    std::vector<Point> bases;
    if (!expect("[") || take("]")) return bases;
    do {
      std::vector<int32_t> values = numbers();
      if (!failed() && values.size() != rank) fail("a basis has another rank");
      if (failed()) return {};
      bases.push_back(point(values));
    } while (take(",") && bases.size() < max_list);
    expect("]");
    return bases;
  }

  Repeat repeat() {
    Repeat repeat{};
    std::string_view dim = word();
    if (dim != "register" && dim != "warp") fail("a repeat is of register or of warp");
    repeat.dim = dim == "warp" ? InputDim::Warp : InputDim::Register;
    repeat.axis = is_number() ? number() : Repeat::replicate;
    if (repeat.axis == Repeat::replicate) expect("none");
    repeat.count = number();
    if (repeat.axis == Repeat::replicate) return repeat;
    expect("by");
    repeat.stride = number();
    if (repeat.stride == 0) fail("a repeat has no stride");
    return repeat;
  }

  std::optional<Layout> general() {
    std::vector<int32_t> extents = this->extents();
    if (!failed() && extents.size() > size_t(max_rank))
      fail(fmt::format("a layout has at most {} axes", max_rank));
    LayoutSpec spec;
    spec.rank = int(extents.size());
    if (key("register")) spec.of(InputDim::Register) = bases(extents.size());
    if (key("lane")) spec.of(InputDim::Lane) = bases(extents.size());
    if (key("warp")) spec.of(InputDim::Warp) = bases(extents.size());
    if (key("repeats") && expect("[")) {
      do {
        spec.repeats.push_back(repeat());
      } while (take(",") && spec.repeats.size() < max_list);
      expect("]");
    }
    if (failed()) return std::nullopt;
    std::string why;
    std::optional<Layout> layout = Layout::make(std::move(spec), &why);
    if (!layout) return fail(why);
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (layout->extent(int(axis)) != extents[axis])
        return fail("bases and repeats give other extents");
    }
    return layout;
  }

  std::string_view text_;
  size_t at_ = 0;
  TextError error_;
};

}  // namespace

std::optional<Layout> parse_layout(std::string_view text, TextError* error) {
  Reader reader(text);
  std::optional<Layout> layout = reader.layout();
  if (error) *error = reader.error();
  return layout;
}

std::optional<SharedLayout> parse_shared_layout(std::string_view text, TextError* error) {
  Reader reader(text);
  std::optional<SharedLayout> layout = reader.shared();
  if (error) *error = reader.error();
  return layout;
}

size_t layout_text_length(std::string_view text) {
  if (text.empty() || text[0] != '#') return 0;
  size_t end = text.find_first_of(">\n");
  return end == std::string_view::npos || text[end] == '\n' ? 0 : end + 1;
}

}  // namespace tessera::layout
