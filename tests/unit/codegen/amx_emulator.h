#pragma once
// The tile instructions on a processor that has none: code for AMX runs anywhere, if slowly.
//
// While an AmxEmulator lives, the first illegal instruction that is one of LDTILECFG, TILERELEASE,
// TILEZERO, TILELOADD, TILESTORED and TDPBF16PS is carried out on the thread's own tile registers
// and skipped. Encodings and arithmetic follow Intel's manual; nothing is shared with the compiler.
// Where the processor and the system offer AMX nothing is emulated.

namespace tessera::test {

class AmxEmulator {
 public:
  AmxEmulator();
  ~AmxEmulator();
  AmxEmulator(const AmxEmulator&) = delete;
  AmxEmulator& operator=(const AmxEmulator&) = delete;

  /// Whether this process may execute the instructions themselves.
  static bool is_native();
  /// How many dots of tiles were emulated in this process.
  static long products();
  /// Whether this thread has configured tiles that it did not release.
  static bool is_configured();
};

}  // namespace tessera::test
