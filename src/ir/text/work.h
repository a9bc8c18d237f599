#pragma once
// What one launch of a kernel computes and moves: the attribute `work` of kernels, and its form.

#include <optional>
#include <string_view>

#include "ir/core/attribute.h"
#include "ir/dim/dim.h"
#include "ir/numbers/dtype.h"

namespace tessera {

class Context;
class Op;
class OpVerifier;

/// Sizes are over the kernel's free dims.
struct Work {
  Dim flops = nullptr;     ///< operations on floats, and those in dots of any dtype; null: unknown
  Dim dot_flops = nullptr;  ///< those of `flops` that are in dots
  std::optional<DType> dot_dtype{};  ///< of the factors of the first dot
  bool at_most = false;                  ///< flops depend on more than dims; they are the most
  bool infinite = false;                 ///< the kernel is written with infinities: its results may have some
  Dim reads = nullptr;                   ///< bytes that are reached, each once
  Dim writes = nullptr;
};

Attr work_attr(Context& context, const Work& work);
/// Nothing where the attribute does not have the form that work_attr gives.
std::optional<Work> read_work(Attr attr);
/// Reports an attribute `work` that is there and has another form.
void verify_work(Op* op, OpVerifier& verifier);

}  // namespace tessera
