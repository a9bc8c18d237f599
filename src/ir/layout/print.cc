#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "ir/layout/families.h"
#include "ir/layout/text.h"

namespace tessera::layout {

namespace {

std::string extents_text(const Point& extents, int rank) {
  if (rank == 0) return "scalar";
  return fmt::format("{}", fmt::join(extents.begin(), extents.begin() + rank, " x "));
}

std::string order_text(std::span<const int> order) {
  bool plain = std::is_sorted(order.begin(), order.end(), std::greater<>());
  return plain ? "" : fmt::format(", order = [{}]", fmt::join(order, ", "));
}

bool is(const std::optional<Layout>& candidate, const Layout& layout) {
  return candidate && *candidate == layout;
}

std::string wgmma_text(const Layout& layout) {
  int m = layout.extent(0), n = layout.extent(1), warps = layout.warps();
  auto text = [&](std::string_view kind) {
    return fmt::format("#wgmma<{}, {}, warps = {}", kind,
                       extents_text(layout.extents(), layout.rank()), warps);
  };
  if (layout.rank() == 1) {
    auto accumulator = wgmma_accumulator(m, 8, warps);
    return accumulator && accumulator->slice(1, false).layout == layout ? text("rows") + ">" : "";
  }
  if (layout.rank() != 2) return "";
  if (is(wgmma_accumulator(m, n, warps), layout)) return text("acc") + ">";
  if (n == 1) {
    auto accumulator = wgmma_accumulator(m, 8, warps);
    if (accumulator && accumulator->slice(1, true).layout == layout) return text("rows") + ">";
  }
  for (int bits : {16, 8, 32}) {
    if (!is(wgmma_operand_a(m, n, warps, bits), layout)) continue;
    return text("a") + (bits == 16 ? ">" : fmt::format(", bits = {}>", bits));
  }
  return "";
}

std::string mma_text(const Layout& layout) {
  if (layout.rank() != 2) return "";
  int rows = layout.extent(0), columns = layout.extent(1);
  for (int warps_m = 1; warps_m <= layout.warps(); ++warps_m) {
    int warps_n = layout.warps() / warps_m;
    if (warps_m * warps_n != layout.warps()) continue;
    std::string kind = is(mma_accumulator(rows, columns, warps_m, warps_n), layout) ? "acc"
                       : is(mma_operand_a(rows, columns, warps_m, warps_n), layout) ? "a"
                       : is(mma_operand_b(rows, columns, warps_m, warps_n), layout) ? "b"
                                                                                    : "";
    if (kind.empty()) continue;
    return fmt::format("#mma<{}, {} x {}, warps = {} x {}>", kind, rows, columns, warps_m, warps_n);
  }
  return "";
}

std::string amx_text(const Layout& layout) {
  if (layout.rank() != 2 || layout.lanes() != 1 || layout.warps() != 1) return "";
  int rows = layout.extent(0), columns = layout.extent(1);
  if (is(amx_accumulator(rows, columns), layout))
    return fmt::format("#amx<acc, {} x {}>", rows, columns);
  for (int bits : {16, 8}) {
    std::string kind = is(amx_operand_a(rows, columns, bits), layout)   ? "a"
                       : is(amx_operand_b(rows, columns, bits), layout) ? "b"
                                                                        : "";
    if (kind.empty()) continue;
    return fmt::format("#amx<{}, {} x {}{}>", kind, rows, columns, bits == 16 ? "" : ", bits = 8");
  }
  return "";
}

std::string blocked_text(const Layout& layout) {
  if (layout.rank() == 0) return "";
  std::vector<int> order;
  for (int axis = layout.rank(); axis-- > 0;) order.push_back(axis);
  std::span<const int32_t> extents(layout.extents().data(), size_t(layout.rank()));
  do {
    int vector = layout.vector_width(order[0]);
    if (!is(blocked(extents, vector, layout.lanes(), layout.warps(), order), layout)) continue;
    std::string lanes = layout.lanes() == 32 ? "" : fmt::format(", lanes = {}", layout.lanes());
    return fmt::format("#blocked<{}, vector = {}{}, warps = {}{}>", fmt::join(extents, " x "),
                       vector, lanes, layout.warps(), order_text(order));
  } while (std::prev_permutation(order.begin(), order.end()));
  return "";
}

std::string bases_text(const Layout& layout, InputDim dim, std::string_view name) {
  if (layout.bases(dim).empty()) return "";
  std::vector<std::string> bases;
  for (const Point& basis : layout.bases(dim)) {
    bases.push_back(
        fmt::format("[{}]", fmt::join(basis.begin(), basis.begin() + layout.rank(), ", ")));
  }
  return fmt::format(", {} = [{}]", name, fmt::join(bases, ", "));
}

std::string general_text(const Layout& layout) {
  std::vector<std::string> repeats;
  for (InputDim dim : {InputDim::Register, InputDim::Warp}) {
    for (const Repeat& repeat : layout.repeats(dim)) {
      std::string_view name = dim == InputDim::Register ? "register" : "warp";
      repeats.push_back(
          repeat.axis == Repeat::replicate
              ? fmt::format("{} none {}", name, repeat.count)
              : fmt::format("{} {} {} by {}", name, repeat.axis, repeat.count, repeat.stride));
    }
  }
  std::string text = "#layout<" + extents_text(layout.extents(), layout.rank());
  text += bases_text(layout, InputDim::Register, "register");
  text += bases_text(layout, InputDim::Lane, "lane");
  text += bases_text(layout, InputDim::Warp, "warp");
  if (!repeats.empty()) text += fmt::format(", repeats = [{}]", fmt::join(repeats, ", "));
  return text + ">";
}

}  // namespace

std::string print(const Layout& layout) {
  for (auto family : {wgmma_text, mma_text, amx_text, blocked_text}) {
    if (std::string text = family(layout); !text.empty()) return text;
  }
  return general_text(layout);
}

std::string print(const SharedLayout& layout) {
  std::string text =
      fmt::format("#shared<{}, bytes = {}", extents_text(layout.extents(), layout.rank()),
                  layout.element_bytes());
  if (layout.swizzle() != Swizzle::None)
    text += fmt::format(", swizzle = {}", int(layout.swizzle()));
  if (layout.padding() != 0) text += fmt::format(", pad = {}", layout.padding());
  if (layout.panel() != 0) text += fmt::format(", panel = {}", layout.panel());
  return text + order_text(layout.order()) + ">";
}

}  // namespace tessera::layout
