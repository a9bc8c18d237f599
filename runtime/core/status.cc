#include "runtime/core/status.h"

namespace tessera::runtime {

namespace {

thread_local std::string last_error;

}  // namespace

tsr_status_t report(Status status) noexcept {
  if (!status.failed()) return TSR_SUCCESS;
  if (status.text.empty()) {
    // Short enough for the string's own buffer, so that nothing is allocated here.
    last_error = status.code == TSR_EOOM ? "out of memory" : "internal error";
  } else {
    last_error = std::move(status.text);
  }
  return status.code;
}

}  // namespace tessera::runtime

extern "C" {

const char* tsrGetLastError(void) {
  return tessera::runtime::last_error.c_str();
}

const char* tsrStatusName(tsr_status_t status) {
  switch (status) {
    case TSR_SUCCESS:
      return "TSR_SUCCESS";
    case TSR_EOOM:
      return "TSR_EOOM";
    case TSR_EINVAL:
      return "TSR_EINVAL";
    case TSR_ETIMEOUT:
      return "TSR_ETIMEOUT";
    case TSR_EIMAGE:
      return "TSR_EIMAGE";
    case TSR_ENOTFOUND:
      return "TSR_ENOTFOUND";
    case TSR_EUNSUPPORTED:
      return "TSR_EUNSUPPORTED";
    case TSR_EINTERNAL:
      return "TSR_EINTERNAL";
    case TSR_ECHECK:
      return "TSR_ECHECK";
  }
  return "unknown status";
}

void tsrGetVersion(uint32_t* major, uint32_t* minor) {
  if (major) *major = TSR_ABI_MAJOR;
  if (minor) *minor = TSR_ABI_MINOR;
}

}  // extern "C"
