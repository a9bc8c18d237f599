#pragma once
// A device whose kernels are stand-ins: each touches every byte that its metadata lets it touch, and
// no machine code of a bundle runs. Between guard pages a launch that reaches too far faults.

#include <memory>

#include "runtime/core/device.h"

namespace tessera::hostile {

std::unique_ptr<runtime::Device> make_stand_in();

}  // namespace tessera::hostile
