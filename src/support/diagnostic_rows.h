#pragma once
// The rows of diagnostics.def by name. Only code that reports diagnostics includes them, so that a
// new row recompiles little.

#include <algorithm>
#include <string_view>

#include "support/diagnostic.h"

namespace tessera {

enum class DiagId : uint16_t {
#define DIAG(name, severity, text) name,
#include "support/diagnostics.def"
#undef DIAG
};

/// Number of arguments a text takes: one more than its largest {n}.
consteval int count_arguments(std::string_view text) {
  int count = 0;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}') {
      count = std::max(count, text[i + 1] - '0' + 1);
    }
  }
  return count;
}
/// The mechanical part of the wording rules, checked when this header is compiled.
consteval bool is_well_worded(std::string_view text) {
  return !text.empty() && !(text[0] >= 'A' && text[0] <= 'Z') && text.back() != '.';
}

namespace diag {
#define DIAG(name, severity, text)                                                \
  static_assert(is_well_worded(text), "diagnostic " #name " breaks the wording rules"); \
  inline constexpr DiagKind<count_arguments(text)> name{DiagId::name};
#include "support/diagnostics.def"
#undef DIAG
}  // namespace diag

}  // namespace tessera
