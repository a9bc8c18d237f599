#include "runtime/core/call_checks.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/context.h"
#include "runtime/core/function.h"

namespace tessera::runtime {

using format::BufferKind;
using format::cat;

CallChecks::CallChecks(const Function& function, Frame& frame, Queue& queue, DebugDevice& device, uint32_t checks)
    : function_(function),
      frame_(frame),
      plan_(frame.plan),
      queue_(queue),
      device_(device),
      checks_(checks),
      low_(-HUGE_VAL),
      high_(HUGE_VAL),
      alive_(plan_.buffers.size()),
      before_(plan_.buffers.size()),
      writer_(plan_.buffers.size()) {
  if (!(checks_ & TSR_CHECK_NUMERICS)) return;
  for (const format::ManifestPromise& promise : function.entry->numerics) {
    // A function that the entry calls is part of kernels: what it promises is looked at by code compiled for it.
    if (promise.function != function.entry->name) continue;
    stable_ |= promise.stable;
    if (promise.bounds.empty()) continue;
    bounded_ = true;
    low_ = promise.bounds[0];
    high_ = promise.bounds[1];
  }
}

Status CallChecks::poison(uint32_t buffer) {
  size_t bytes = size_t(frame_.placement.bytes[buffer]);
  if (!(checks_ & TSR_CHECK_POISON) || bytes == 0) return ok();
  Poison with = poison_of(plan_.buffers[buffer].dtype);
  return queue_.fill(frame_.buffers[buffer], with.pattern, with.width, bytes);
}

Status CallChecks::begin() {
  for (size_t i = 0; i < function_.outputs.size(); ++i) {
    if (function_.donors[i] != format::no_index) continue;
    if (Status status = poison(function_.outputs[i]); status.failed()) return status;
  }
  return ok();
}

namespace {

constexpr uint8_t zone_byte = 0x9d;

int64_t rounded(int64_t bytes) {
  return (bytes + int64_t(memory_alignment) - 1) / int64_t(memory_alignment) *
         int64_t(memory_alignment);
}

/// Whether what an operand holds explains a result's infinities, which no NaN makes, or its NaN.
bool explains(const FloatScan& operand, bool infinite) {
  return operand.infinite.count > 0 || (!infinite && operand.nan.count > 0);
}

}  // namespace

Status CallChecks::enter_step(size_t step) {
  for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    const format::PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != BufferKind::Temp || function_.is_view[i]) continue;
    bool lives = buffer.first_step <= step && step <= buffer.last_step;
    bool begins = lives && !alive_[i];
    alive_[i] = lives;
    if (!begins || frame_.placement.bytes[i] == 0) continue;
    if (Status status = poison(i); status.failed()) return status;
    if (!(checks_ & TSR_CHECK_CANARIES)) continue;
    int64_t bytes = frame_.placement.bytes[i], end = rounded(bytes) + canary_zone;
    char* behind = static_cast<char*>(frame_.buffers[i]) + bytes;
    Status status = queue_.fill(behind, zone_byte, 1, size_t(end - bytes));
    if (status.failed()) return status;
  }
  return ok();
}

void CallChecks::enter_iteration(size_t begin, size_t end) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const format::PlanBuffer& buffer = plan_.buffers[i];
    if (begin <= buffer.first_step && buffer.last_step < end) alive_[i] = false;
  }
}

Status CallChecks::check_zones(const std::string& where) {
  for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    int64_t bytes = frame_.placement.bytes[i];
    if (!alive_[i] || bytes == 0) continue;
    std::string zone(size_t(rounded(bytes) + canary_zone - bytes), '\0');
    Status status =
        queue_.read(zone.data(), static_cast<char*>(frame_.buffers[i]) + bytes, zone.size());
    if (status.failed()) return status;
    size_t first = zone.find_first_not_of(char(zone_byte));
    if (first == zone.npos) continue;
    return fail(TSR_ECHECK, where, ": it wrote ", first + 1, " bytes past the end of ", title(i),
                ", ", bytes, " bytes");
  }
  return ok();
}

Status CallChecks::scan(uint32_t buffer, FloatScan& found) {
  size_t bytes = size_t(frame_.placement.bytes[buffer]);
  std::string_view content(static_cast<const char*>(frame_.buffers[buffer]), bytes);
  if (!device_.facts().is_host) {
    content_.resize(bytes);
    Status status = queue_.read(content_.data(), frame_.buffers[buffer], bytes);
    if (status.failed()) return status;
    content = content_;
  }
  found = scan_floats(plan_.buffers[buffer].dtype, content, low_, high_);
  return ok();
}

std::string CallChecks::title(uint32_t buffer) const {
  return cat(buffer_title(plan_.buffers[buffer]), " ",
             format::shape_text(frame_.placement.shapes[buffer]));
}

std::string CallChecks::coordinates(uint32_t buffer, int64_t element) const {
  std::vector<int64_t> at(frame_.placement.shapes[buffer]);
  for (size_t i = at.size(); i-- > 0;) {
    int64_t extent = at[i];
    at[i] = element % extent;
    element /= extent;
  }
  return format::shape_text(at);
}

/// Whether the launch has written over the operand in place.
bool CallChecks::is_result_elsewhere(const format::LaunchStep& step,
                                     const format::KernelMeta& meta, uint32_t buffer) const {
  for (size_t i = 0; i < step.buffers.size() && i < meta.buffers.size(); ++i) {
    bool same = frame_.buffers[step.buffers[i]] == frame_.buffers[buffer];
    if (meta.buffers[i].result && same && step.buffers[i] != buffer) return true;
  }
  return false;
}

Status CallChecks::before_launch(const format::LaunchStep& step) {
  before_.assign(plan_.buffers.size(), {});
  if (!(checks_ & (TSR_CHECK_NAN | TSR_CHECK_INF)) && !stable_) return ok();
  for (size_t i = 0; i < step.buffers.size(); ++i) {
    for (size_t j = i + 1; j < step.buffers.size(); ++j) {
      uint32_t a = step.buffers[i], b = step.buffers[j];
      bool same = frame_.buffers[a] == frame_.buffers[b] && frame_.placement.bytes[a] > 0;
      if (!same || !is_float(plan_.buffers[a].dtype)) continue;
      FloatScan found;
      if (Status status = scan(a, found); status.failed()) return status;
      before_[a] = before_[b] = found;
    }
  }
  return ok();
}

Status CallChecks::after_launch(size_t at, const format::LaunchStep& step,
                                const format::KernelMeta& meta) {
  std::string where = step_title(function_, at, meta);
  if (checks_ & TSR_CHECK_CANARIES) {
    if (Status status = check_zones(where); status.failed()) return status;
    Status status = device_.check_memory(where, [&](const void* memory) {
      for (uint32_t i = 0; i < plan_.buffers.size(); ++i) {
        if (frame_.buffers[i] == memory) return title(i);
      }
      return std::string();
    });
    if (status.failed()) return status;
  }
  for (size_t i = 0; i < step.buffers.size() && i < meta.buffers.size(); ++i) {
    if (!meta.buffers[i].result) continue;
    Status status = check_result(where, step, meta, step.buffers[i]);
    if (status.failed()) return status;
  }
  return ok();
}

Status CallChecks::check_result(const std::string& where, const format::LaunchStep& step,
                                const format::KernelMeta& meta, uint32_t buffer) {
  constexpr uint32_t of_values = TSR_CHECK_NAN | TSR_CHECK_INF | TSR_CHECK_NUMERICS;
  bool looks = (checks_ & of_values) && is_float(plan_.buffers[buffer].dtype);
  if (!looks || frame_.placement.bytes[buffer] == 0) return ok();
  writer_[buffer] = where;
  Content result;
  result.buffer = buffer;
  if (Status status = scan(buffer, result.scan); status.failed()) return status;
  if (result.scan.nan.count > 0 && ((checks_ & TSR_CHECK_NAN) || stable_)) {
    Status status = blame(where, step, meta, result, false);
    if (status.failed()) return status;
  }
  bool is_meant = meta.work.infinite && !stable_;
  if (result.scan.infinite.count > 0 && !is_meant && ((checks_ & TSR_CHECK_INF) || stable_)) {
    return blame(where, step, meta, result, true);
  }
  return ok();
}

/// Fails unless an operand explains the result's NaN or infinities.
Status CallChecks::blame(const std::string& where, const format::LaunchStep& step,
                         const format::KernelMeta& meta, const Content& result, bool infinite) {
  const Found& found = infinite ? result.scan.infinite : result.scan.nan;
  std::string news = cat(title(result.buffer), " has ", found.count,
                         infinite ? (found.count == 1 ? " infinity" : " infinities") : " NaN",
                         found.count == 1 ? " at " : ", the first at ",
                         coordinates(result.buffer, found.first));
  for (size_t i = 0; i < step.buffers.size() && i < meta.buffers.size(); ++i) {
    uint32_t operand = step.buffers[i];
    if (meta.buffers[i].result || !is_float(plan_.buffers[operand].dtype)) continue;
    if (is_result_elsewhere(step, meta, operand)) {
      if (explains(before_[operand], infinite) || before_[operand].poison.count > 0) return ok();
      continue;
    }
    if (frame_.placement.bytes[operand] == 0) continue;
    FloatScan scanned;
    if (Status status = scan(operand, scanned); status.failed()) return status;
    if (explains(scanned, infinite)) return ok();
    if (scanned.poison.count > 0) {
      return fail(TSR_ECHECK, where, ": ", news, ": it read ", title(operand), ", of which ",
                  scanned.poison.count, " elements were never written, the first at ",
                  coordinates(operand, scanned.poison.first));
    }
  }
  return fail(TSR_ECHECK, where, ": ", news, "; its operands have none");
}

/// The launch that wrote the output is named, where it was no copy.
Status CallChecks::check_bounds(uint32_t output) {
  FloatScan found;
  if (Status status = scan(output, found); status.failed()) return status;
  const Found& outside = found.outside;
  if (outside.count == 0) return ok();
  const std::string& writer = writer_[output];
  return fail(TSR_ECHECK, writer.empty() ? plan_.entry : writer, ": ", title(output), " has ", outside.count,
              outside.count == 1 ? " value" : " values", " outside of the bounds that ",
              "@verify.numerics gives, ", outside.count == 1 ? "at " : "the first at ",
              coordinates(output, outside.first));
}

Status CallChecks::check_written(uint32_t output) {
  FloatScan found;
  if (Status status = scan(output, found); status.failed()) return status;
  if (found.poison.count == 0) return ok();
  return fail(TSR_ECHECK, plan_.entry, ": ", found.poison.count, " elements of ", title(output),
              " were never written, the first at ", coordinates(output, found.poison.first));
}

Status CallChecks::end() {
  for (size_t i = 0; i < function_.outputs.size(); ++i) {
    uint32_t output = function_.outputs[i];
    bool has_floats = is_float(plan_.buffers[output].dtype) && frame_.placement.bytes[output] > 0;
    if (function_.donors[i] != format::no_index || !has_floats) continue;
    if ((checks_ & TSR_CHECK_POISON) && !function_.is_view[output]) {
      if (Status status = check_written(output); status.failed()) return status;
    }
    if (!bounded_) continue;
    if (Status status = check_bounds(output); status.failed()) return status;
  }
  return ok();
}

}  // namespace tessera::runtime
