// The reader of layout text: one pass, no recursion. Numbers are at most max_extent and lists at
// most as long as a layout can use, so a text cannot make it allocate more than a layout may take.

#include <fmt/format.h>

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
    std::vector<int32_t> extents = this->extents();
    int bytes = key("bytes") ? number() : (fail("expected ', bytes ='"), 0);
    int swizzle = key("swizzle") ? number() : 0;
    int padding = key("pad") ? number() : 0;
    int panel = key("panel") ? number() : 0;
    std::vector<int> order = this->order();
    if (!finish()) return std::nullopt;
    bool known = swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128;
    bool one_form = (swizzle != 0) + (padding != 0) + (panel != 0) <= 1;
    if (!known) fail("a swizzle is 32, 64 or 128 bytes wide");
    if (!one_form) fail("swizzle, pad and panel exclude each other");
    if (panel != 0 && (extents.size() != 2 || !order.empty()))
      fail("panels have two axes in their own order");
    if (failed()) return std::nullopt;
    std::optional<SharedLayout> layout =
        panel != 0     ? SharedLayout::panels(extents[0], extents[1], bytes, panel)
        : swizzle != 0 ? SharedLayout::swizzled(extents, bytes, Swizzle(swizzle), order)
                       : SharedLayout::rows(extents, bytes, order, padding);
    if (!layout) fail("the numbers fit no shared layout");
    return layout;
  }

  bool failed() const { return !error_.message.empty(); }
  const TextError& error() const { return error_; }

 private:
  std::nullopt_t fail(std::string message) {
    if (!failed()) error_ = {std::move(message), at_};
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
  /// A number from 0 to max_extent; 0 after a mistake.
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
  int required(std::string_view name) {
    if (key(name)) return number();
    fail(fmt::format("expected ', {} ='", name));
    return 0;
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

  std::optional<Layout> fitting(std::optional<Layout> layout) {
    if (!failed() && !layout) fail("the numbers do not fit the family");
    return layout;
  }
  /// `kind, rows x columns`, of which a row reduction may lack the columns.
  std::string_view kind_and_extents(int32_t& rows, int32_t& columns) {
    std::string_view kind = word();
    expect(",");
    rows = number();
    bool single = kind == "rows" && !peek("x");
    columns = single ? absent : (expect("x"), number());
    return kind;
  }

  std::optional<Layout> wgmma() {
    int32_t m = 0, n = 0;
    std::string_view kind = kind_and_extents(m, n);
    int warps = required("warps");
    int bits = kind == "a" && key("bits") ? number() : 16;
    if (failed()) return std::nullopt;
    if (kind == "acc") return fitting(wgmma_accumulator(m, n, warps));
    if (kind == "a") return fitting(wgmma_operand_a(m, n, warps, bits));
    if (kind != "rows") return fail("wgmma has the fragments acc, rows and a");
    std::optional<Layout> accumulator;
    if (n == 1 || n == absent) accumulator = wgmma_accumulator(m, 8, warps);
    if (accumulator) accumulator = accumulator->slice(1, n == 1).layout;
    return fitting(accumulator);
  }

  std::optional<Layout> mma() {
    int32_t rows = 0, columns = 0;
    std::string_view kind = kind_and_extents(rows, columns);
    int warps_m = required("warps");
    expect("x");
    int warps_n = number();
    if (failed()) return std::nullopt;
    if (kind == "acc") return fitting(mma_accumulator(rows, columns, warps_m, warps_n));
    if (kind == "a") return fitting(mma_operand_a(rows, columns, warps_m, warps_n));
    if (kind == "b") return fitting(mma_operand_b(rows, columns, warps_m, warps_n));
    return fail("mma has the fragments acc, a and b");
  }

  std::optional<Layout> amx() {
    int32_t rows = 0, columns = 0;
    std::string_view kind = kind_and_extents(rows, columns);
    int bits = kind != "acc" && key("bits") ? number() : 16;
    if (failed()) return std::nullopt;
    if (kind == "acc") return fitting(amx_accumulator(rows, columns));
    if (kind == "a") return fitting(amx_operand_a(rows, columns, bits));
    if (kind == "b") return fitting(amx_operand_b(rows, columns, bits));
    return fail("amx has the fragments acc, a and b");
  }

  std::optional<Layout> blocked_family() {
    std::vector<int32_t> extents = this->extents();
    int vector = required("vector");
    int lanes = key("lanes") ? number() : 32;
    int warps = required("warps");
    std::vector<int> order = this->order();
    if (failed()) return std::nullopt;
    return fitting(blocked(extents, vector, lanes, warps, order));
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
