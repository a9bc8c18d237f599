// The rules of target.func: the parameters of each calling convention, and the facts for the bundle.

#include <fmt/format.h>

#include <set>

#include "ir/target/ops.h"
#include "ir/target/verify.h"
#include "ir/text/access_site.h"
#include "ir/text/entries.h"
#include "ir/text/symbols.h"
#include "ir/text/work.h"

namespace tessera::target {

namespace {

void verify_cpu(Op* op, OpVerifier& verifier) {
  Block* entry = op->region()->front();
  constexpr std::string_view wanted[] = {"ptr", "ptr", "i64", "i64", "ptr"};
  bool fits = entry->arg_count() == std::size(wanted);
  for (unsigned i = 0; fits && i < entry->arg_count(); ++i) fits = entry->arg(i)->type()->text == wanted[i];
  if (!fits) verifier.error("its parameters must be (ptr, ptr, i64, i64, ptr)");
  auto expect_none = [&](auto key) {
    if (op->has(key)) verifier.error("'{}' needs 'threads'", key.name);
  };
  expect_none(attr::Func::shared);
  expect_none(attr::Func::cluster);
  expect_none(attr::Func::persistent);
  expect_none(attr::Func::descriptors);
  expect_none(attr::Func::registers);
}

/// Empty, or the error in a tensor map.
std::string problem_of(Attr map, size_t buffers) {
  using entry::TensorMap;
  if (std::string problem = entry::problem_of(map, entry::Dict::TensorMap); !problem.empty()) return problem;
  int64_t buffer = entry::read(map, TensorMap::buffer);
  if (buffer < 0 || size_t(buffer) >= buffers) return "'buffer' must be the number of a parameter";
  size_t rank = entry::read(map, TensorMap::dims).size();
  if (rank < 1 || rank > 5) return "'dims' must list 1 to 5 sizes";
  if (entry::read(map, TensorMap::strides).size() + 1 != rank) {
    return fmt::format("'strides' must list {} sizes", rank - 1);
  }
  AttrList box = entry::read(map, TensorMap::box);
  bool of_windows = entry::node(map, TensorMap::steps);
  for (const auto& key : {TensorMap::lower, TensorMap::upper, TensorMap::steps}) {
    size_t count = entry::read(map, key).size();
    bool fits = of_windows ? rank >= 3 && count == rank - 2 : !entry::node(map, key);
    if (!fits) return fmt::format("'{}' must list a number for each axis of an image", key.name);
  }
  if (of_windows && box.size() != 2) return "'box' must list channels and windows";
  if (!of_windows && box.size() != rank) return fmt::format("'box' must list {} extents", rank);
  for (int64_t extent : box) {
    if (extent < 1 || extent > 256) return fmt::format("a box extends over 1 to 256 elements, not {}", extent);
  }
  int64_t width = entry::read(map, TensorMap::swizzle);
  if (width != 0 && width != 32 && width != 64 && width != 128) return "'swizzle' must be 0, 32, 64 or 128";
  int64_t inner = box[0] * byte_size(entry::read(map, TensorMap::dtype));
  if (width && inner > width) return fmt::format("rows of {} bytes do not fit a swizzle of {}", inner, width);
  if (inner % 16) return fmt::format("rows of a box must be a multiple of 16 bytes, not {}", inner);
  return {};
}

void verify_cluster(Op* op, OpVerifier& verifier) {
  if (!op->has(attr::Func::cluster)) return;
  AttrList cluster = op->attr(attr::Func::cluster);
  int64_t blocks = 1;
  bool fits = !cluster.empty() && cluster.size() <= 3;
  for (int64_t extent : cluster) {
    fits = fits && extent >= 1 && extent <= 16;
    if (fits) blocks *= extent;
  }
  if (!fits || blocks > 16) verifier.error("'cluster' must be 1 to 3 extents of together at most 16 blocks");
}

void verify_gpu(Op* op, OpVerifier& verifier) {
  int64_t threads = op->required(attr::Func::threads);
  if (threads < 32 || threads > 1024 || threads % 32) {
    verifier.error("'threads' must be a multiple of 32 up to 1024, not {}", threads);
  }
  int64_t shared = op->attr(attr::Func::shared).value_or(0),
          registers = op->attr(attr::Func::registers).value_or(255);
  if (shared < 0 || shared > 1 << 20)
    verifier.error("'shared' must be a number of bytes, not {}", shared);
  if (registers < 24 || registers > 255)
    verifier.error("'registers' must be 24 to 255, not {}", registers);
  verify_cluster(op, verifier);
  const std::vector<Attr>& descriptors = op->attr(attr::Func::descriptors);
  size_t buffers = op->attr(attr::Func::params).size(), dims = op->attr(attr::Func::dims).size();
  size_t maps = descriptors.size();
  for (size_t i = 0; i < maps; ++i) {
    std::string problem = problem_of(descriptors[i], buffers);
    if (!problem.empty()) verifier.error("descriptor {}: {}", i, problem);
  }
  Block* entry = op->region()->front();
  size_t pointers = buffers + op->has(attr::Func::checks);
  bool fits = entry->arg_count() == pointers + dims + maps;
  for (size_t i = 0; fits && i < entry->arg_count(); ++i) {
    bool is_dim = i >= pointers && i < pointers + dims;
    fits = entry->arg(unsigned(i))->type()->text == (is_dim ? "u32" : "ptr");
  }
  if (!fits) verifier.error("its parameters must be {} ptr, {} u32 and {} ptr", pointers, dims, maps);
}

/// `dims` names each size of the parameters once, and nothing is said of other sizes: a launch binds these.
void verify_dims(Op* op, OpVerifier& verifier) {
  std::set<std::string_view> sizes, named;
  for (Type param : op->attr(attr::Func::params)) {
    for_each_symbol(param, [&](std::string_view name) { sizes.insert(name); });
  }
  for (std::string_view name : op->attr(attr::Func::dims)) {
    if (!sizes.contains(name)) {
      verifier.error("dim '{}' occurs in none of 'params'", name);
    } else if (!named.insert(name).second) {
      verifier.error("'dims' names '{}' twice", name);
    }
  }
  for_each_symbol(op, [&](std::string_view name) {
    if (!verifier.failed() && !named.contains(name)) verifier.error("size '{}' is none of its 'dims'", name);
  });
}

/// The facts of the kernel, whether it has a body or not.
void verify_description(Op* op, OpVerifier& verifier) {
  size_t params = op->attr(attr::Func::params).size();
  bool named = !op->has(attr::Func::names) || op->attr(attr::Func::names).size() == params;
  if (!named) verifier.error("'names' must list a name for each of 'params'");
  int64_t outputs = op->attr(attr::Func::outputs);
  if (outputs < 0 || outputs > int64_t(params)) {
    verifier.error("it has {} parameters and cannot have {} results", params, outputs);
  }
  verify_work(op, verifier);
  verify_checks(op, params, verifier);
  verify_dims(op, verifier);
}

}  // namespace

void verify_func(Op* op, OpVerifier& verifier) {
  verify_description(op, verifier);
  if (verifier.failed() || !op->region()->front()) return;
  op->has(attr::Func::threads) ? verify_gpu(op, verifier) : verify_cpu(op, verifier);
}

}  // namespace tessera::target
