#pragma once
// Functions of the program that the library calls: what they may do meanwhile.

namespace tessera::runtime {

/// The thread runs a function of the program while this lives.
class InCallback {
 public:
  InCallback() { ++depth_; }
  InCallback(const InCallback&) = delete;
  InCallback& operator=(const InCallback&) = delete;
  ~InCallback() { --depth_; }

  static bool is() { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace tessera::runtime
