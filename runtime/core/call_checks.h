#pragma once
// What a call in a context with checks does besides: poison before a tensor is written, canaries
// behind temporaries, and a look at every result after its launch.
//
// A kernel is to blame for a NaN that none of its operands has. Where an operand has elements that
// nothing has written, that is the news; they carry the poison, which arithmetic turns into other NaN.

#include <string>
#include <vector>

#include "runtime/core/debug_device.h"
#include "runtime/core/interpret.h"
#include "runtime/core/poison.h"
#include "runtime/format/manifest.h"

namespace tessera::runtime {

/// Bytes of canary behind each temporary of a call with checks.
inline constexpr int64_t canary_zone = memory_alignment;

class CallChecks {
 public:
  CallChecks(const Function& function, Frame& frame, Queue& queue, DebugDevice& device, uint32_t checks);

  /// Poisons what the call is to write.
  Status begin();
  /// Temporaries whose life begins get their canary and poison.
  Status enter_step(size_t step);
  /// An iteration of a loop whose body is [begin, end): what lives in the body begins anew.
  void enter_iteration(size_t begin, size_t end);
  Status before_launch(const format::LaunchStep& step);
  /// After the launch is done.
  Status after_launch(size_t at, const format::LaunchStep& step, const format::KernelMeta& meta);
  /// Every element of the outputs was written and keeps what the entry promises.
  Status end();

 private:
  struct Content {
    FloatScan scan;
    uint32_t buffer = 0;
  };

  Status poison(uint32_t buffer);
  Status check_zones(const std::string& where);
  Status scan(uint32_t buffer, FloatScan& found);
  Status check_result(const std::string& where, const format::LaunchStep& step,
                      const format::KernelMeta& meta, uint32_t buffer);
  Status blame(const std::string& where, const format::LaunchStep& step,
               const format::KernelMeta& meta, const Content& result, bool infinite);
  Status check_bounds(uint32_t output);
  Status check_written(uint32_t output);
  bool is_result_elsewhere(const format::LaunchStep& step, const format::KernelMeta& meta,
                           uint32_t buffer) const;
  std::string title(uint32_t buffer) const;
  std::string coordinates(uint32_t buffer, int64_t element) const;

  const Function& function_;
  Frame& frame_;
  const format::Plan& plan_;
  Queue& queue_;
  DebugDevice& device_;
  uint32_t checks_;
  // What @verify.numerics says of the entry, where that is checked.
  bool stable_ = false;
  bool bounded_ = false;
  double low_, high_;
  std::vector<bool> alive_;       ///< per buffer: a temp whose life has begun
  std::vector<FloatScan> before_;  ///< per buffer, what operands held that the launch overwrites
  std::vector<std::string> writer_;  ///< per buffer: the last launch whose result it was
  std::string content_;           ///< fetched from a GPU
};

}  // namespace tessera::runtime
