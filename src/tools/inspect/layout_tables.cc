#include "tools/inspect/layout_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/layout/text.h"

namespace tessera::inspect {

namespace {

using layout::InputDim;
using layout::Layout;
using layout::Point;
using layout::SharedLayout;

std::string extents_json(const Point& extents, int rank) {
  return fmt::format("[{}]", fmt::join(extents.begin(), extents.begin() + rank, ","));
}

bool can_be_drawn(const Point& extents, int rank) {
  int64_t elements = 1;
  for (int axis = 0; axis < rank; ++axis) elements *= extents[size_t(axis)];
  return rank <= 2 && elements <= layout::max_drawn_elements;
}

/// The coordinates that each index of a dim adds.
std::string parts_json(const Layout& layout, InputDim dim) {
  std::vector<int32_t> numbers;
  for (int index = 0; index < layout.size(dim); ++index) {
    Point part = layout.part(dim, index);
    numbers.insert(numbers.end(), part.begin(), part.begin() + layout.rank());
  }
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

std::string json_of(const Layout& layout) {
  if (!can_be_drawn(layout.extents(), layout.rank())) return "null";
  return fmt::format(R"({{"kind":"threads","extents":{},"registers":{},"lanes":{},"warps":{}}})",
                     extents_json(layout.extents(), layout.rank()), parts_json(layout, InputDim::Register),
                     parts_json(layout, InputDim::Lane), parts_json(layout, InputDim::Warp));
}

std::string json_of(const SharedLayout& shared) {
  if (!can_be_drawn(shared.extents(), shared.rank())) return "null";
  std::vector<int64_t> offsets;
  int rows = shared.rank() == 2 ? shared.extents()[0] : 1, columns = shared.extents()[shared.rank() == 2 ? 1 : 0];
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      offsets.push_back(shared.offset(shared.rank() == 2 ? Point{row, column} : Point{column}));
    }
  }
  return fmt::format(R"({{"kind":"memory","extents":{},"element":{},"bytes":{},"swizzle":{},"offsets":[{}]}})",
                     extents_json(shared.extents(), shared.rank()), shared.element_bytes(), shared.size_bytes(),
                     int(shared.swizzle()), fmt::join(offsets, ","));
}

}  // namespace

std::vector<std::string> layouts_of(Op* kernel) {
  std::vector<std::string> found;
  auto add = [&](Type type) {
    bool is_known = type->layout.empty() || std::ranges::find(found, type->layout) != found.end();
    if (!is_known) found.emplace_back(type->layout);
  };
  walk(kernel, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) add(op->result(i)->type());
    for (unsigned r = 0; r < op->region_count(); ++r) {
      Block* entry = op->region(r)->front();
      for (unsigned i = 0; entry && i < entry->arg_count(); ++i) add(entry->arg(i)->type());
    }
  });
  return found;
}

std::string layout_json(std::string_view text) {
  if (std::optional<Layout> threads = layout::parse_layout(text)) return json_of(*threads);
  std::optional<SharedLayout> shared = layout::parse_shared_layout(text);
  return shared ? json_of(*shared) : "null";
}

}  // namespace tessera::inspect
