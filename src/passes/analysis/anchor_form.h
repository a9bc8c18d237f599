#pragma once
// How a graph op becomes a kernel of the library: its name, the dims in which it takes its operands
// (leading dims collapsed into rows), its compile-time arguments.

#include <map>
#include <string>
#include <vector>

#include "passes/analysis/access.h"

namespace tessera {

struct AnchorForm {
  std::string kernel;                      ///< KernelRequest::kernel
  std::vector<std::vector<Dim>> operands;  ///< dims of each operand as the kernel takes it
  std::vector<std::vector<int64_t>>
      transposed;                         ///< perm applied to the operand first; empty for none
  std::vector<std::vector<Dim>> results;  ///< dims of each result as the kernel gives it
  std::vector<int> result_axes;  ///< axis of the first result: the kernel's axis it is part of
  std::map<std::string, Attr> arguments;
  std::map<std::string, Dim> sizes;      ///< KernelRequest::sizes
  std::map<std::string, Attr> schedule;  ///< what the schedule may not choose, by key
  bool strided = true;  ///< operands may be strided windows
  /// Which of the kernel's tensors each operand is, where some may be left out; empty: in order.
  std::vector<size_t> parameters;
};

/// The form of an anchor; `op` is a gemm, softmax, rmsnorm, flash_attention, embedding,
/// cross_entropy or kernel_call.
AnchorForm anchor_form(Op* op);
/// Whether it is a matmul of matrices, or batches of them, whose sum has the accumulator's dtype.
bool is_plain_matmul(const AnchorForm& form);
/// Whether it is a matmul of the windows of an image, which it reads in place, and weights.
bool is_convolution(const AnchorForm& form);
/// The form of a matmul whose first operand is `windows`, a reshape of windows that strides cannot say, given what
/// its operand reads: the windows are read in place. Nothing where they are few in a row, so that the second operand
/// would be read for little, or lie otherwise.
std::optional<AnchorForm> window_matmul_form(Op* gemm, Op* windows, const Access& access);
/// What the kernel reads of operand `position`, given what the op reads; nothing when a copy is
/// needed first.
std::optional<Access> anchor_access(DimTable& table, const AnchorForm& form, unsigned position,
                                    const Access& access);

}  // namespace tessera
