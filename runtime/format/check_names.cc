#include "runtime/format/check_names.h"

#include <algorithm>

#include "runtime/files/text.h"
#include "runtime/include/tessera.h"

namespace tessera::format {

namespace {

constexpr struct {
  std::string_view name;
  uint32_t check;
} check_names[] = {
    {"0", 0},
    {"1", TSR_CHECK_ALL},
    {"all", TSR_CHECK_ALL},
    {"canaries", TSR_CHECK_CANARIES},
    {"guards", TSR_CHECK_GUARDS},
    {"poison", TSR_CHECK_POISON},
    {"nan", TSR_CHECK_NAN},
    {"inf", TSR_CHECK_INF},
    {"numerics", TSR_CHECK_NUMERICS},
};

}  // namespace

Result<uint32_t> parse_checks(std::string_view text) {
  uint32_t checks = 0;
  while (!text.empty()) {
    size_t end = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto known = std::ranges::find_if(check_names, [&](const auto& row) { return row.name == name; });
    if (known == std::end(check_names)) {
      return error("there is no check ", in_quotes(name),
                   "; there are all, canaries, guards, poison, nan, inf and numerics");
    }
    checks |= known->check;
  }
  return checks;
}

}  // namespace tessera::format
