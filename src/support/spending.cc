#include "support/spending.h"

namespace tessera {

Spending& spending() {
  thread_local Spending spent;
  return spent;
}

}  // namespace tessera
