#pragma once
// manifest.json of a bundle: what it offers and what it is made of.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/result.h"

namespace tessera::format {

inline constexpr int64_t bundle_format_version = 2;

/// An input, output or parameter as the source declares it.
struct ManifestTensor {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<std::string> policies;  ///< such as "accum(f32)"
  std::vector<std::string> shape;     ///< expressions in text form, over the entry's dims
  /// Input and parameter: where each of these is written, "mlp.tsr:5:19"; empty where that is not
  /// known.
  std::vector<std::string> places = {};
  bool seed = false;                  ///< input: the Philox seed; a call may omit it, which means 0
  std::string alias_of;     ///< output: the donated input whose memory it is; empty if none
  std::string initialiser;  ///< parameter: such as "normal(0.02)"; empty if it has none
  bool operator==(const ManifestTensor&) const = default;
};

/// A condition that the dims of a call must satisfy.
struct ManifestGuard {
  std::string condition;  ///< in text form, over the entry's dims
  std::string message;
  bool operator==(const ManifestGuard&) const = default;
};

/// What a function of an entry promises of its result (`@verify.numerics`).
struct ManifestPromise {
  std::string function;
  bool stable = false;            ///< no step overflows or loses its digits
  std::vector<double> bounds;     ///< lowest and greatest element; empty if it promises none
  bool operator==(const ManifestPromise&) const = default;
};

struct ManifestEntry {
  std::string name;
  std::vector<std::string> dims;  ///< free dimensions, in order of first mention
  std::vector<ManifestTensor> inputs;
  std::vector<ManifestTensor> outputs;
  std::vector<std::string> params;   ///< names of the bundle's parameters that it reads, in order
  std::vector<std::string> effects;  ///< such as "rng", "state(cache)"
  std::vector<ManifestGuard> guards;
  std::vector<ManifestPromise> numerics;
  bool operator==(const ManifestEntry&) const = default;
};

/// One file of the bundle; filled by BundleWriter.
struct ManifestFile {
  std::string name;
  uint64_t size = 0;
  uint32_t crc32 = 0;
  std::string xxh3;  ///< XXH3-128, 32 lower-case hex digits
  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  int64_t format = bundle_format_version;
  int64_t abi_major = 2;
  int64_t abi_minor = 0;
  std::string compiler;                ///< version of the compiler, such as "tesserac 0.1.0"
  std::vector<std::string> tools;      ///< versions of outside tools that shaped the bytes
  std::vector<std::string> targets;    ///< in order of preference, worst first
  std::vector<std::string> debug;      ///< checks that the code makes: "bounds"
  std::vector<std::string> fast = {};  ///< rules that were given up: "nondet"; absent where there are none
  std::vector<ManifestEntry> entries;  ///< in order of name
  std::vector<ManifestTensor> params;  ///< in order of name
  std::vector<ManifestFile> files;     ///< in order of name, without the manifest itself
  bool operator==(const Manifest&) const = default;
};

/// manifest.json: sorted keys, two spaces of indentation.
std::string write_manifest(const Manifest& manifest);

/// Reads and checks untrusted text; only the form that write_manifest gives is accepted.
Result<Manifest> read_manifest(std::string_view json);

}  // namespace tessera::format
