#pragma once
// The manifest's description of the entries of a compile, from the host functions and the graph.

#include <vector>

#include "codegen/bundle/write_bundle.h"
#include "runtime/format/manifest.h"

namespace tessera::codegen {

/// The entry that a host.func implements.
format::ManifestEntry manifest_entry(Op* function);
/// The parameters that entries read, in order of name, each once, with the initialisers the graph
/// names.
std::vector<format::ManifestTensor> manifest_params(const std::vector<Op*>& functions,
                                                    Module* graph);
/// The schedule of every kernel by target and name, as JSON.
std::string schedules_json(const std::vector<BundleTarget>& targets);

}  // namespace tessera::codegen
