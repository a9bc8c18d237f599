#pragma once
// A device whose memory is guarded: canaries around every allocation, and on a CPU pages that fault.

#include <string>

#include "runtime/core/device.h"
#include "runtime/core/guarded_memory.h"

namespace tessera::runtime {

class DebugDevice : public Device {
 public:
  /// `checks` are TSR_CHECK_….
  DebugDevice(std::unique_ptr<Device> device, uint32_t checks);
  ~DebugDevice() override;

  /// Fails where a canary was written; `title` says what memory is, or nothing.
  Status check_memory(const std::string& where,
                      const std::function<std::string(const void*)>& title);

  const DeviceFacts& facts() const override { return device_->facts(); }
  bool can_run(std::string_view target, std::string& why) const override {
    return device_->can_run(target, why);
  }
  bool is_better(std::string_view a, std::string_view b) const override {
    return device_->is_better(a, b);
  }
  Status load(const format::BundleView& bundle, std::string_view target, uint32_t flags,
              std::unique_ptr<Code>& code) override {
    return device_->load(bundle, target, flags, code);
  }
  Status load_bare(std::string_view image, uint32_t flags, std::unique_ptr<Code>& code) override {
    return device_->load_bare(image, flags, code);
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    return device_->copy(to, from, bytes);
  }
  Status make_stream(std::unique_ptr<Stream>& stream) override {
    return device_->make_stream(stream);
  }
  Status adopt_stream(void* native, std::unique_ptr<Stream>& stream) override {
    return device_->adopt_stream(native, stream);
  }
  Status make_default_stream(std::unique_ptr<Stream>& stream) override {
    return device_->make_default_stream(stream);
  }
  void set_threads(int threads) override { device_->set_threads(threads); }
  void release_arenas() override { device_->release_arenas(); }

 protected:
  MemorySource& own_memory(MemoryKind kind) override;

 private:
  static constexpr size_t kinds = 3;

  // The device goes first: its queues keep memory that these gave.
  std::unique_ptr<MemorySource> pages_;              ///< of a CPU with guard pages
  std::unique_ptr<GuardedMemory> guarded_[kinds]{};  ///< by MemoryKind; null without canaries
  std::unique_ptr<Device> device_;
};

}  // namespace tessera::runtime
