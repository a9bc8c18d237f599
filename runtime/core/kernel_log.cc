#include "runtime/core/kernel_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace tessera::runtime {

namespace {

constexpr uint64_t capacity = 256;
constexpr size_t header_bytes = 64;
constexpr size_t entry_bytes = 64;

enum Field : size_t { Site, Program, Axis, First, Count, Extent, field_count };
using Entry = std::array<int64_t, field_count>;

std::string program_text(const format::KernelMeta& meta, std::span<const int64_t> dims,
                         int64_t program) {
  if (meta.persistent) return format::cat("block ", program);
  std::vector<int64_t> extents;
  for (const format::Expr& extent : meta.grid) {
    int64_t value = 0;
    if (format::evaluate(extent, dims, value) != format::EvalStatus::Ok || value < 1) value = 1;
    extents.push_back(value);
  }
  std::vector<int64_t> tile(extents.size());
  int64_t left = program;
  for (size_t i = extents.size(); i-- > 0; left /= extents[i]) tile[i] = left % extents[i];
  return format::cat("program ", program, " (tile ", format::shape_text(tile), " of ",
                     format::shape_text(extents), ")");
}

std::string range_text(const Entry& entry, const std::string& memory) {
  int64_t last = entry[First] + entry[Count] - 1;
  std::string elements = entry[Count] == 1
                             ? format::cat("element ", entry[First])
                             : format::cat("elements ", entry[First], " to ", last);
  if (entry[Axis] < 0) {
    return format::cat(elements, " counted from its start; ", memory, " has ", entry[Extent]);
  }
  return format::cat(elements, " along axis ", entry[Axis], ", which has ", entry[Extent]);
}

}  // namespace

Status KernelLog::clear(MemorySource& source, Queue& queue) {
  if (!memory_.data()) {
    Status status = memory_.allocate(source, header_bytes + capacity * entry_bytes);
    if (status.failed()) return status;
    status = queue.fill(memory_.data() + 8, capacity, 8, 8);
    if (status.failed()) return status;
  }
  return queue.fill(memory_.data(), 0, 8, 8);
}

Status KernelLog::read(Queue& queue, const format::KernelMeta& meta, std::span<const int64_t> dims,
                       const std::string& where,
                       const std::function<std::string(size_t)>& title) {
  uint64_t count = 0;
  if (Status status = queue.read(&count, memory_.data(), sizeof count); status.failed()) {
    return status;
  }
  if (count == 0) return ok();
  std::vector<char> bytes(std::min(count, capacity) * entry_bytes);
  Status status = queue.read(bytes.data(), memory_.data() + header_bytes, bytes.size());
  if (status.failed()) return status;
  auto entry_at = [&](size_t i) {
    Entry entry{};
    std::memcpy(entry.data(), bytes.data() + i * entry_bytes, sizeof entry);
    std::swap(entry[Site], entry[Program]);
    return entry;
  };
  // The order in which programs ran is no matter of the message.
  Entry least = entry_at(0);
  for (size_t i = 1; i * entry_bytes < bytes.size(); ++i) least = std::min(least, entry_at(i));
  std::swap(least[Site], least[Program]);
  bool is_known = least[Site] >= 0 && size_t(least[Site]) < meta.checks.size();
  if (!is_known) return fail(TSR_EINTERNAL, where, ": its log is damaged");
  const format::KernelCheck& check = meta.checks[size_t(least[Site])];
  std::string memory = check.buffer < 0 ? "its scratch memory" : title(size_t(check.buffer));
  return fail(TSR_ECHECK, where, ", ", program_text(meta, dims, least[Program]), ": a ",
              check.access, check.access == "store" ? " to " : " from ", memory,
              check.source.empty() ? "" : " at ", check.source, " reaches ",
              range_text(least, memory), count > 1 ? format::cat("; ", count - 1, " more such") : "");
}

}  // namespace tessera::runtime
