#include <fmt/format.h>

#include "ir/layout/text.h"
#include "support/check.h"

namespace tessera::layout {

namespace {

std::string summary(const Layout& layout) {
  std::string text = fmt::format("{}: {} warps x {} lanes x {} registers\n", print(layout),
                                 layout.warps(), layout.lanes(), layout.registers_per_thread());
  if (layout.is_replicated()) {
    int64_t places = int64_t(layout.warps()) * layout.lanes() * layout.registers_per_thread();
    text += fmt::format("each element is held {} times; the owner that stores it is shown\n",
                        places / layout.element_count());
  }
  return text;
}

/// Rows and columns with their numbers, right aligned.
std::string grid(int rows, int columns, const std::vector<std::string>& cells) {
  size_t width = fmt::formatted_size("{}", columns - 1);
  for (const std::string& cell : cells) width = std::max(width, cell.size());
  size_t margin = fmt::formatted_size("{}", rows - 1);
  std::string text(margin, ' ');
  for (int column = 0; column < columns; ++column) text += fmt::format(" {:>{}}", column, width);
  text += "\n";
  for (int row = 0; row < rows; ++row) {
    text += fmt::format("{:>{}}", row, margin);
    for (int column = 0; column < columns; ++column) {
      text += fmt::format(" {:>{}}", cells[size_t(row) * columns + column], width);
    }
    text += "\n";
  }
  return text;
}

/// The texts of all elements, row by row.
template <typename F>
std::vector<std::string> cells_of(int rank, int rows, int columns, F&& cell) {
  std::vector<std::string> cells;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      Point at{};
      if (rank == 2) at[0] = row;
      at[rank == 2 ? 1 : 0] = column;
      cells.push_back(cell(at));
    }
  }
  return cells;
}

}  // namespace

std::string draw(const Layout& layout) {
  TSR_CHECK(layout.rank() <= 2 && layout.element_count() <= max_drawn_elements,
            "a layout too large to draw");
  int rows = layout.rank() == 2 ? layout.extent(0) : 1;
  int columns = layout.extent(layout.rank() == 2 ? 1 : 0);
  auto cells = cells_of(layout.rank(), rows, columns, [&](const Point& at) {
    Owner owner = layout.canonical_owner(at);
    return fmt::format("{}:{}:{}", owner.warp, owner.lane, owner.reg);
  });
  return summary(layout) + grid(rows, columns, cells);
}

std::string draw(const SharedLayout& layout) {
  int rows = layout.rank() == 2 ? layout.extents()[0] : 1;
  int columns = layout.extents()[layout.rank() == 2 ? 1 : 0];
  TSR_CHECK(layout.rank() <= 2 && int64_t(rows) * columns <= max_drawn_elements, "a layout too large to draw");
  auto cells = cells_of(layout.rank(), rows, columns,
                        [&](const Point& at) { return fmt::format("{}", layout.offset(at)); });
  return fmt::format("{}: {} bytes, aligned to {}\n", print(layout), layout.size_bytes(), layout.alignment()) +
         grid(rows, columns, cells);
}

}  // namespace tessera::layout
