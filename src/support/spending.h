#pragma once
// Counts the resources that compiling uses, for the budget that limits them
// (frontend/evaluate/budget.h). Each thread has its own counts, and only their differences have a
// meaning: memory that another thread frees is counted there.

#include <cstddef>
#include <cstdint>

namespace tessera {

struct Spending {
  int64_t bytes = 0;   ///< that values, scopes, dims, types and attributes hold
  uint64_t steps = 0;  ///< of work
};

/// That of this thread.
Spending& spending();

/// Bytes that are held as long as this lives.
class HeldBytes {
 public:
  explicit HeldBytes(size_t bytes = 0) { add(bytes); }
  ~HeldBytes() { spending().bytes -= bytes_; }
  HeldBytes(const HeldBytes&) = delete;
  void add(size_t bytes) {
    bytes_ += int64_t(bytes);
    spending().bytes += int64_t(bytes);
  }

 private:
  int64_t bytes_ = 0;
};

}  // namespace tessera
