#pragma once
// Verifies a whole bundle: the checks of the runtime's formats, and that the IR in it can be read.
// `tsr verify` runs this on given bundles, `tesserac` on each bundle that it has written.

#include <string_view>

#include "runtime/format/bundle.h"

namespace tessera {

/// The bundle, or what is wrong with it.
format::Result<format::BundleView> check_whole_bundle(std::string_view bytes);

}  // namespace tessera
