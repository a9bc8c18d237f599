#pragma once
// What a bundle's kernels and entries cost, as text or JSON.
//
// All figures come from the bundle: work, resources and grids from reflection.json, steps and
// intervals from the plans. With the sizes of an entry's dims they are numbers, without them
// expressions. Times are a roofline's: what moving the bytes or doing the operations takes at the
// peak figures of a typical machine (ir/core/machine.h), whichever is longer.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/format/result.h"

namespace tessera::report {

struct Options {
  std::map<std::string, int64_t> dims{};  ///< sizes, by the name of an entry's or kernel's dim
  bool json = false;
};

/// The report, or why there is none: the bundle is damaged, a dim is unknown, sizes break a guard.
format::Result<std::string> report_of(std::string_view bundle, const Options& options);

/// Adds a size written `B=8`; false when the text is none.
bool read_dim(const std::string& text, std::map<std::string, int64_t>& dims);

}  // namespace tessera::report
