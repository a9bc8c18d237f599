#include "runtime/tsr/train/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace tessera::tool::train {

namespace {

volatile std::sig_atomic_t signal_that_came = 0;

extern "C" void note_signal(int number) { signal_that_came = number; }

void handle(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
}

}  // namespace

Interrupt::Interrupt() { handle(note_signal, int(SA_RESETHAND | SA_RESTART)); }

Interrupt::~Interrupt() { handle(SIG_DFL, 0); }

int Interrupt::signal() { return signal_that_came; }

}  // namespace tessera::tool::train
