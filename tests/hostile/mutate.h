#pragma once
// Bundles with mistakes that no compiler makes, in the one byte form: every hash is mended.

#include <map>
#include <string>

#include "check/random.h"
#include "runtime/format/bundle.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

namespace tessera::hostile {

using check::Random;

/// The contents of a bundle.
struct Contents {
  format::Manifest manifest;
  std::map<std::string, std::string> entries;  ///< without the manifest
  std::string changes;                         ///< what was done, in words
};

/// One to four changes. The bytes are a bundle again, unless the writer refuses the names.
std::string mutate(Contents contents, Random& random, std::string& changes);

/// Changes one field, step, expression or buffer.
void mutate_plan(format::Plan& plan, Random& random, std::string& change);
/// Changes what the metadata say about one kernel.
void mutate_kernel(format::KernelMeta& kernel, Random& random, std::string& change);
void mutate_manifest(format::Manifest& manifest, Random& random, std::string& change);
/// Changes numbers, words or lines of a text.
void mutate_text(std::string& text, Random& random, std::string& change);
/// Changes bytes anywhere, or where the headers of an object are.
void mutate_bytes(std::string& bytes, Random& random, std::string& change);

/// A number that breaks things: small, near a power of two, or beyond everything.
int64_t odd_number(Random& random);

}  // namespace tessera::hostile
