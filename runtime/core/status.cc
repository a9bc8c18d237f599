#include "runtime/core/status.h"

#include "runtime/files/per_thread.h"

namespace tessera::runtime {

namespace {

PerThread<std::string> last_error;
constexpr const char* no_memory = "out of memory";

}  // namespace

tsr_status_t report(Status status) noexcept {
  if (!status.failed()) return TSR_SUCCESS;
  std::string* text = last_error.get();
  if (!text) return status.code;
  if (status.text.empty()) {
    // Short enough for the string's own buffer, so that nothing is allocated here.
    *text = status.code == TSR_EOOM ? no_memory : "internal error";
  } else {
    *text = std::move(status.text);
  }
  return status.code;
}

}  // namespace tessera::runtime

extern "C" {

const char* tsrGetLastError(void) {
  using tessera::runtime::last_error;
  if (last_error.ran_out()) return tessera::runtime::no_memory;
  const std::string* text = last_error.find();
  return text ? text->c_str() : "";
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
    case TSR_ECANCELED:
      return "TSR_ECANCELED";
  }
  return "unknown status";
}

void tsrGetVersion(uint32_t* major, uint32_t* minor) {
  if (major) *major = TSR_ABI_MAJOR;
  if (minor) *minor = TSR_ABI_MINOR;
}

}  // extern "C"
