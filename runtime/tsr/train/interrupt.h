#pragma once
// SIGINT and SIGTERM end training after the step that runs. A second one ends it at once.

namespace tessera::tool::train {

/// Notes the two signals while it lives.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();
  /// The signal that came; 0 when none has.
  static int signal();
};

}  // namespace tessera::tool::train
