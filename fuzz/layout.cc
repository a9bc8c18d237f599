// Any bytes as the text of a layout. An accepted layout prints to a text that reads back as the
// same layout, and its elements have the owners that its map gives.

#include <cstdint>
#include <string_view>

#include "ir/layout/text.h"
#include "support/check.h"

using namespace tessera;
using namespace tessera::layout;

namespace {

void check(const Layout& layout) {
  std::optional<Layout> again = parse_layout(print(layout));
  TSR_CHECK(again && *again == layout, "a printed layout was read back differently");
  Point last = layout.extents();
  for (int32_t& coordinate : last) --coordinate;
  for (const Point& element : {Point{}, last}) {
    Owner owner = layout.canonical_owner(element);
    TSR_CHECK(layout.coordinates(owner.reg, owner.lane, owner.warp) == element,
              "an owner holds another element");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  TextError error;
  if (std::optional<Layout> layout = parse_layout(text, &error)) {
    check(*layout);
  } else {
    TSR_CHECK(!error.message.empty() && error.position <= size,
              "a text was refused without a reason");
  }
  if (std::optional<SharedLayout> shared = parse_shared_layout(text)) {
    std::optional<SharedLayout> again = parse_shared_layout(print(*shared));
    TSR_CHECK(again && *again == *shared, "a printed shared layout was read back differently");
  }
  return 0;
}
