#include "runtime/core/device.h"

namespace tessera::runtime {

std::shared_ptr<Recording> Queue::record(const Work&) {
  return nullptr;
}

Status Queue::replay(Recording&, std::string_view title) {
  return fail(TSR_EINTERNAL, title, ": this device has no recordings");
}

}  // namespace tessera::runtime
