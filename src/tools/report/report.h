#pragma once
// The cost of a bundle's kernels and entries, as text or JSON.
//
// All figures come from the bundle: work, resources and grids from reflection.json, steps and live
// ranges from the plans. They are numbers where the sizes of an entry's dims are given, else
// expressions. Times are those of a roofline at the peak figures of a typical machine, and on GPUs
// what rates that were measured make of it (ir/numbers/peak_figures.h).

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/numbers/machine.h"
#include "runtime/files/result.h"

namespace tessera::report {

struct Options {
  std::map<std::string, int64_t> dims{};  ///< sizes, by the name of an entry's or kernel's dim
  /// Of all other dims. Sizes need not fit then: names that no dim has are passed over.
  std::optional<int64_t> other_dims{};
  std::vector<std::string> entries{};  ///< that are reported; empty for all
  bool json = false;
  std::string gpu{};  ///< whose figures estimates are for: one of known_gpus(); empty for a typical one

  std::optional<int64_t> size_of(const std::string& dim) const;
};

/// The report, or why there is none: the bundle is damaged, an entry is unknown, sizes fit no entry. An entry
/// whose guards they break is reported without sizes beside others.
format::Result<std::string> report_of(std::string_view bundle, const Options& options);

/// What one call of an entry does on a target.
struct EntryWork {
  double flop = 0;
  double bytes = 0;           ///< read and written by kernels
  double seconds = 0;         ///< of a roofline
  double memory_seconds = 0;  ///< of moving the bytes alone
};

/// The peak figures for a launch that moves so many bytes.
using Figures = std::function<PeakFigures(double bytes)>;

/// The work of the one entry of `options` for a target of the bundle; nothing where it depends on data or is only
/// bounded.
format::Result<std::optional<EntryWork>> work_of(std::string_view bundle, const std::string& target,
                                                 const Options& options, const Figures& figures);

/// The GPUs whose figures are known, as a list for help texts.
std::string known_gpu_names();

/// Why a report on these targets cannot be for a GPU of that name; empty where it can, and for no name.
std::string wrong_gpu(const std::string& gpu, const std::vector<std::string>& targets);

/// The names of sizes of a bundle's entries, or of its kernels where it has no entry.
format::Result<std::vector<std::string>> dims_of(std::string_view bundle);

}  // namespace tessera::report
