#pragma once
// Everything that a bundle must satisfy: what the runtime's formats check, and that the IR it carries can be read.
// `tsr verify` asks this of bundles that it is given, `tesserac` of each one that it has written.

#include <string_view>

#include "runtime/format/bundle.h"

namespace tessera {

/// The bundle, or what is wrong with it.
format::Result<format::BundleView> check_whole_bundle(std::string_view bytes);

}  // namespace tessera
