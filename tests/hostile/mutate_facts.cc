// Changes of what manifest and metadata say.

#include <algorithm>

#include "hostile/mutate.h"
#include "runtime/files/text.h"

namespace tessera::hostile {

using namespace format;

namespace {

Expr odd_expr(const KernelMeta& kernel, Random& random) {
  if (kernel.dims.empty() || random.one_in(2)) return const_expr(odd_number(random));
  Expr dim = dim_expr(uint32_t(random.pick(kernel.dims.size())));
  return random.one_in(2) ? dim : binary_expr(ExprOp::Mul, dim, const_expr(odd_number(random)));
}

/// One of a list, which has some.
template <typename T>
T& any(std::vector<T>& list, Random& random) {
  return list[random.pick(list.size())];
}

void mutate_buffer(KernelMeta& kernel, KernelBuffer& buffer, Random& random) {
  switch (random.pick(4)) {
    case 0:
      buffer.dtype = Dtype(random.pick(size_t(Dtype::Bool) + 1));
      return;
    case 1:
      buffer.alignment = uint32_t(1 + random.pick(128));
      return;
    case 2:
      buffer.result = !buffer.result;
      return;
    default:
      if (buffer.shape.empty()) {
        buffer.shape.push_back(odd_expr(kernel, random));
      } else {
        any(buffer.shape, random) = odd_expr(kernel, random);
      }
  }
}

void mutate_tensor(ManifestTensor& tensor, Random& random) {
  switch (random.pick(6)) {
    case 0:
      tensor.dtype = Dtype(random.pick(size_t(Dtype::Bool) + 1));
      return;
    case 1:
      tensor.shape.push_back(std::to_string(odd_number(random)));
      return;
    case 2:
      if (!tensor.shape.empty()) any(tensor.shape, random) = std::to_string(odd_number(random));
      return;
    case 3:
      tensor.seed = !tensor.seed;
      return;
    case 4:
      tensor.alias_of = random.one_in(2) ? "" : "x";
      return;
    default:
      mutate_text(tensor.name, random, tensor.initialiser);
  }
}

}  // namespace

void mutate_kernel(KernelMeta& kernel, Random& random, std::string& change) {
  change = cat("kernel ", kernel.name);
  switch (random.pick(10)) {
    case 0:
      if (!kernel.grid.empty()) any(kernel.grid, random) = odd_expr(kernel, random);
      return;
    case 1:
      kernel.scratch = odd_expr(kernel, random);
      return;
    case 2:
      kernel.assume = {odd_expr(kernel, random)};
      return;
    case 3:
      kernel.assume.clear();
      return;
    case 4:
      kernel.dims.push_back(cat("z", random.pick(9)));
      return;
    case 5:
      if (!kernel.descriptors.empty()) any(kernel.descriptors, random).offset = odd_expr(kernel, random);
      return;
    case 6:
      kernel.checks.push_back({"load", int64_t(random.pick(3)) - 1, "a.tsr:1:1"});
      return;
    case 7:
      if (!kernel.buffers.empty()) kernel.buffers.push_back(any(kernel.buffers, random));
      return;
    default:
      if (!kernel.buffers.empty()) mutate_buffer(kernel, any(kernel.buffers, random), random);
  }
}

void mutate_manifest(Manifest& manifest, Random& random, std::string& change) {
  size_t choice = random.pick(8);
  change = cat("field ", choice);
  if (choice == 0) {
    (random.one_in(2) ? manifest.abi_major : manifest.abi_minor) = odd_number(random);
  } else if (choice == 1) {
    if (!manifest.targets.empty()) manifest.targets.pop_back();
  } else if (choice == 2) {
    mutate_text(manifest.compiler, random, change);
  } else if (choice == 3 && !manifest.params.empty()) {
    mutate_tensor(any(manifest.params, random), random);
  } else if (!manifest.entries.empty()) {
    ManifestEntry& entry = any(manifest.entries, random);
    if (choice == 4 && !entry.outputs.empty()) {
      mutate_tensor(any(entry.outputs, random), random);
    } else if (choice == 5 && !entry.guards.empty()) {
      entry.guards.pop_back();
    } else if (choice == 6) {
      mutate_text(entry.name, random, change);
    } else if (!entry.inputs.empty()) {
      mutate_tensor(any(entry.inputs, random), random);
    }
  }
}

}  // namespace tessera::hostile
