#include "runtime/core/debug_device.h"

#include "runtime/core/guard_pages.h"

namespace tessera::runtime {

DebugDevice::DebugDevice(std::unique_ptr<Device> device, uint32_t checks)
    : device_(std::move(device)) {
  bool has_pages = device_->facts().is_host && (checks & TSR_CHECK_GUARDS);
  if (has_pages) pages_ = std::make_unique<GuardedPages>();
  if (!(checks & TSR_CHECK_CANARIES)) return;
  auto copy = [this](void* to, const void* from, size_t bytes) {
    return device_->copy(to, from, bytes);
  };
  // Where a page follows, the canary is only what rounding up leaves.
  size_t behind = has_pages ? 0 : memory_alignment;
  for (size_t kind = 0; kind < kinds; ++kind) {
    MemorySource& inner = has_pages ? *pages_ : device_->memory(MemoryKind(kind));
    guarded_[kind] = std::make_unique<GuardedMemory>(inner, copy, behind);
  }
}

DebugDevice::~DebugDevice() = default;

MemorySource& DebugDevice::own_memory(MemoryKind kind) {
  if (guarded_[size_t(kind)]) return *guarded_[size_t(kind)];
  return pages_ ? *pages_ : device_->memory(kind);
}

Status DebugDevice::check_memory(const std::string& where,
                                 const std::function<std::string(const void*)>& title) {
  for (const auto& memory : guarded_) {
    if (!memory) continue;
    std::optional<Damage> damage;
    if (Status status = memory->check(damage); status.failed()) return status;
    if (!damage) continue;
    std::string name = title(damage->memory);
    int64_t past = damage->at - int64_t(damage->bytes);
    return fail(TSR_ECHECK, where, ": it wrote ", past < 0 ? -damage->at : past + 1,
                past < 0 ? " bytes before the start of " : " bytes past the end of ",
                name.empty() ? "an allocation" : name, ", ", damage->bytes, " bytes");
  }
  return ok();
}

}  // namespace tessera::runtime
