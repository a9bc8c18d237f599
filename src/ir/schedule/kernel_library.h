#pragma once
// Where kernels come from: the front end builds a sched.kernel from the source of a @kernel
// function, for given operand types. graph_to_schedule asks by name and knows nothing of the source
// language.
//
// What graph_to_schedule asks for, and with which operands (leading dims already collapsed):
//   gir.gemm           matmul          a [M, K], b [K, N]; argument total (DType), the sum's
//   gir.gemm, rank 3   matmul_batched  a [B, M, K], b [B, K, N]; the same
//   with a 16-bit sum  …_rounded       the same; the schedule sets the tile of k
//   gir.softmax        softmax         x [M, N]
//   gir.rmsnorm        rmsnorm_safe    x [M, N]; argument eps (Float)
//   with a scale       rmsnorm         x [M, N], scale [N]; argument eps (Float)
//   gir.flash_attention  flash_attention_2  q, k, v, bias, length as they are, what is not there left out;
//                                           arguments causal, window, scale where given
//   with sums          flash_attention_2_lse  the same
//   gir.embedding      embedding       ids [M], table [V, D]
//   gir.cross_entropy  cross_entropy   logits [M, V], targets [M]
//   gir.kernel_call    its own name    operands as they are; arguments and sizes as they are
//
// How the kernel changes afterwards: an operand that is a transposed or sliced view gets
// another parameter type and a sched.view that all its loads go through; elementwise consumers of
// the result are put in place of `sched.hook {name = "epilogue"}`, their other operands are loaded
// at the index of the store. So the value of an epilogue hook is stored, as it is or after casts,
// in a tile of the hook's shape.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "support/result.h"

namespace tessera::schedule {

struct KernelRequest {
  std::string kernel;          ///< name in the standard library or in the user's file: "matmul"
  /// Tensor types, dims in the caller's symbols; null for a parameter with a default that is left out.
  std::vector<Type> operands;
  /// Dtypes of the results. A kernel that ends in `tile.cast(value, T)` ends in a cast to this
  /// dtype instead, which is no op when the value has it. Empty: as the source says.
  std::vector<DType> results;
  std::map<std::string, Attr> arguments;  ///< compile-time arguments by name (keyword parameters)
  /// What symbols stand for that the kernel's source and functions given to it have from around them; any other stands
  /// for itself.
  std::map<std::string, Dim> sizes;
  std::map<std::string, Attr> schedule;   ///< overrides of the schedule, by key (schedule_keys.def)
  std::string symbol;                     ///< the kernel op's symbol
  std::string machine;  ///< the target's name: picks the row of the schedule table
  /// How often the largest extent of the library's own tiles is halved, for a kernel that does not fit else; a schedule
  /// with roles is left out first.
  int64_t halvings = 0;
  /// Which of the schedules that may be the one, where that depends on sizes; none: the one that always may.
  std::optional<size_t> choice;
  Loc loc;              ///< the op that asks, for diagnostics
};

/// An operand that a kernel changes. An output holds what it becomes, or, for a sum, parts in leading dims, all of
/// which are added to the operand.
struct KernelRegion {
  unsigned operand;        ///< its number in the request
  unsigned output;         ///< its number among the results
  std::vector<Dim> parts;  ///< leading dims of a sum's parts, in the caller's symbols
  bool reads = false;      ///< the operand is a parameter of the kernel
  bool sums = false;
  bool keeps = false;  ///< elements that are not written stay as they were: the output begins as the operand
};

/// A `print` of a kernel: outputs in which each program leaves what it shows, as host.print reads them. They begin as
/// zeros.
struct KernelPrint {
  Attr item;        ///< as in host.print, sizes in the caller's symbols
  unsigned values;  ///< numbers among the kernel's outputs; the same for a label alone
  unsigned shown;
};

/// A kernel built for a request. Operands that are regions come last in a request; those of them that are not read are
/// no parameters of the kernel.
struct KernelInstance {
  Op* kernel = nullptr;             ///< a sched.kernel in the module that was given
  std::vector<Type> results;        ///< result types in the caller's symbols
  std::map<std::string, Dim> dims;  ///< the kernel's free dims in the caller's symbols
  /// How many schedules there are to choose from, in the order in which they are tried; only the last needs nothing.
  size_t choices = 1;
  std::vector<KernelRegion> regions = {};
  /// Their outputs follow the results.
  std::vector<KernelPrint> prints = {};
  Attr grid = nullptr;  ///< where it prints: programs along each axis, in the caller's symbols
};

class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  /// Builds the kernel into `module` (level schedule). Errors in the kernel's source are
  /// reported, and so is a kernel that does not exist.
  virtual Result<KernelInstance> instantiate(Module& module, const KernelRequest& request) = 0;
  /// Whether it is a kernel of the standard library that sums along an axis k and has one of its name and `_parts`
  /// beside it, which makes parts of these sums as matmul_parts does.
  virtual bool has_parts(std::string_view /*kernel*/) { return false; }
};

}  // namespace tessera::schedule
