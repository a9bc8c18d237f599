/// An internal error is a finding: it is thrown, and nothing catches it.

#include "support/check.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  static tessera::ThrowInternalErrors thrown;
  return 0;
}
