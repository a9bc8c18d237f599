// The rules of target.func: the parameters of each calling convention, and the facts for the bundle.

#include <fmt/format.h>

#include <set>

#include "ir/target/verify.h"
#include "ir/text/access_site.h"
#include "ir/text/symbols.h"
#include "ir/text/work.h"

namespace tessera::target {

namespace {

bool all_of_kind(Attr array, AttrKind kind) {
  for (Attr element : array->elements) {
    if (!element->is(kind)) return false;
  }
  return true;
}

size_t count_of(Op* op, std::string_view list) {
  Attr array = op->attr(list);
  return array ? array->elements.size() : 0;
}

void verify_cpu(Op* op, OpVerifier& verifier) {
  Block* entry = op->region()->front();
  constexpr std::string_view wanted[] = {"ptr", "ptr", "i64", "i64", "ptr"};
  bool fits = entry->arg_count() == std::size(wanted);
  for (unsigned i = 0; fits && i < entry->arg_count(); ++i) fits = entry->arg(i)->type()->text == wanted[i];
  if (!fits) verifier.error("its parameters must be (ptr, ptr, i64, i64, ptr)");
  for (std::string_view name : {"shared", "cluster", "persistent", "descriptors", "registers"}) {
    if (op->has_attr(name)) verifier.error("'{}' needs 'threads'", name);
  }
}

/// Dims, or integers that stand for them.
bool all_sizes(Attr array) {
  if (!array || !array->is(AttrKind::Array)) return false;
  for (Attr element : array->elements) {
    if (!element->dim) return false;
  }
  return true;
}

/// Empty, or the error in a tensor map.
std::string problem_of(Attr map, size_t buffers) {
  if (!map->is(AttrKind::Dict)) return "it is no dict";
  Attr buffer = map->get("buffer"), dtype = map->get("dtype"), swizzle = map->get("swizzle");
  if (!buffer || !buffer->is(AttrKind::Int) || buffer->integer < 0 || size_t(buffer->integer) >= buffers) {
    return "'buffer' must be the number of a parameter";
  }
  if (!dtype || !dtype->is(AttrKind::DType)) return "'dtype' must be a dtype";
  Attr dims = map->get("dims"), strides = map->get("strides"), box = map->get("box"), offset = map->get("offset");
  if (!all_sizes(dims) || dims->elements.empty() || dims->elements.size() > 5) return "'dims' must list 1 to 5 sizes";
  size_t rank = dims->elements.size();
  if (!all_sizes(strides) || strides->elements.size() + 1 != rank) {
    return fmt::format("'strides' must list {} sizes", rank - 1);
  }
  if (!offset || !offset->dim) return "'offset' must be a size";
  if (!box || !box->is(AttrKind::Array) || box->elements.size() != rank) {
    return fmt::format("'box' must list {} extents", rank);
  }
  for (Attr extent : box->elements) {
    if (!extent->is(AttrKind::Int) || extent->integer < 1 || extent->integer > 256) {
      return fmt::format("a box extends over 1 to 256 elements, not {}", extent->text);
    }
  }
  int64_t width = swizzle && swizzle->is(AttrKind::Int) ? swizzle->integer : -1;
  if (width != 0 && width != 32 && width != 64 && width != 128) return "'swizzle' must be 0, 32, 64 or 128";
  int64_t inner = box->elements[0]->integer * byte_size(dtype->dtype);
  if (width && inner > width) return fmt::format("rows of {} bytes do not fit a swizzle of {}", inner, width);
  if (inner % 16) return fmt::format("rows of a box must be a multiple of 16 bytes, not {}", inner);
  return {};
}

void verify_cluster(Op* op, OpVerifier& verifier) {
  Attr cluster = op->attr("cluster");
  if (!cluster) return;
  int64_t blocks = 1;
  bool fits = !cluster->elements.empty() && cluster->elements.size() <= 3 && all_of_kind(cluster, AttrKind::Int);
  for (Attr extent : cluster->elements) {
    fits = fits && extent->integer >= 1 && extent->integer <= 16;
    if (fits) blocks *= extent->integer;
  }
  if (!fits || blocks > 16) verifier.error("'cluster' must be 1 to 3 extents of together at most 16 blocks");
}

void verify_gpu(Op* op, OpVerifier& verifier) {
  int64_t threads = op->int_attr("threads");
  if (threads < 32 || threads > 1024 || threads % 32) {
    verifier.error("'threads' must be a multiple of 32 up to 1024, not {}", threads);
  }
  if (Attr shared = op->attr("shared"); shared && (shared->integer < 0 || shared->integer > 1 << 20)) {
    verifier.error("'shared' must be a number of bytes, not {}", shared->integer);
  }
  if (Attr bound = op->attr("registers"); bound && (bound->integer < 24 || bound->integer > 255)) {
    verifier.error("'registers' must be 24 to 255, not {}", bound->integer);
  }
  verify_cluster(op, verifier);
  size_t buffers = count_of(op, "params"), dims = count_of(op, "dims"), maps = count_of(op, "descriptors");
  for (size_t i = 0; i < maps; ++i) {
    std::string problem = problem_of(op->attr("descriptors")->elements[i], buffers);
    if (!problem.empty()) verifier.error("descriptor {}: {}", i, problem);
  }
  Block* entry = op->region()->front();
  size_t pointers = buffers + op->has_attr("checks");
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
  for (Attr param : op->attr("params")->elements) {
    for_each_symbol(param->type, [&](std::string_view name) { sizes.insert(name); });
  }
  for (Attr name : op->attr("dims")->elements) {
    if (!sizes.contains(name->string)) {
      verifier.error("dim '{}' occurs in none of 'params'", name->string);
    } else if (!named.insert(name->string).second) {
      verifier.error("'dims' names '{}' twice", name->string);
    }
  }
  for_each_symbol(op, [&](std::string_view name) {
    if (!verifier.failed() && !named.contains(name)) verifier.error("size '{}' is none of its 'dims'", name);
  });
}

/// The facts of the kernel, whether it has a body or not.
void verify_description(Op* op, OpVerifier& verifier) {
  if (!all_of_kind(op->attr("dims"), AttrKind::String)) return verifier.error("'dims' must list names");
  if (!all_of_kind(op->attr("params"), AttrKind::Type)) return verifier.error("'params' must list types");
  if (!all_sizes(op->attr("grid"))) return verifier.error("'grid' must list sizes");
  Attr names = op->attr("names");
  bool is_good = !names || (all_of_kind(names, AttrKind::String) && count_of(op, "names") == count_of(op, "params"));
  if (!is_good) verifier.error("'names' must list a name for each of 'params'");
  int64_t outputs = op->int_attr("outputs");
  if (outputs < 0 || outputs > int64_t(op->attr("params")->elements.size())) {
    verifier.error("it has {} parameters and cannot have {} results", op->attr("params")->elements.size(), outputs);
  }
  verify_facts(op, "assume", verifier);
  verify_work(op, verifier);
  verify_checks(op, count_of(op, "params"), verifier);
  verify_dims(op, verifier);
}

}  // namespace

void verify_func(Op* op, OpVerifier& verifier) {
  verify_description(op, verifier);
  if (verifier.failed() || !op->region()->front()) return;
  op->has_attr("threads") ? verify_gpu(op, verifier) : verify_cpu(op, verifier);
}

}  // namespace tessera::target
