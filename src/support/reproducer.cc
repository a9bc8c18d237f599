#include "support/reproducer.h"

#include "support/check.h"
#include "support/file.h"

namespace tessera {

namespace {

thread_local const ReproducerScope* innermost = nullptr;

}  // namespace

ReproducerScope::ReproducerScope(std::string path, std::function<std::string()> text)
    : path_(std::move(path)), text_(std::move(text)), outer_(innermost) {
  innermost = this;
  internal_error_context().write_reproducer = &write;
}

ReproducerScope::~ReproducerScope() {
  innermost = outer_;
  internal_error_context() = {};
  if (outer_) internal_error_context().write_reproducer = &write;
}

std::string ReproducerScope::write() {
  const ReproducerScope& scope = *innermost;
  std::string error;
  if (scope.path_.empty() || !write_file(scope.path_, scope.text_(), error)) return {};
  return scope.path_;
}

}  // namespace tessera
