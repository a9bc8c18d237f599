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

}  // namespace

std::string draw(const Layout& layout) {
  TSR_CHECK(layout.rank() <= 2 && layout.element_count() <= max_drawn_elements,
            "a layout too large to draw");
  int rows = layout.rank() == 2 ? layout.extent(0) : 1;
  int columns = layout.extent(layout.rank() == 2 ? 1 : 0);
  size_t width = fmt::formatted_size("{}", columns - 1);
  std::vector<std::string> cells;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      Point at{};
      if (layout.rank() == 2) at[0] = row;
      at[layout.rank() == 2 ? 1 : 0] = column;
      Owner owner = layout.canonical_owner(at);
      cells.push_back(fmt::format("{}:{}:{}", owner.warp, owner.lane, owner.reg));
      width = std::max(width, cells.back().size());
    }
  }
  size_t margin = fmt::formatted_size("{}", rows - 1);
  std::string text = summary(layout) + std::string(margin, ' ');
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

}  // namespace tessera::layout
