#pragma once
// Whether a plan launches kernels as their metadata says: the step that keeps machine code, which is
// trusted to touch what its metadata states and no more, inside of the plan's buffers.
//
// A kernel's metadata gives each buffer's dtype, shape and alignment over the kernel's dims, and the
// conditions on those dims that the code relies on. A launch binds the dims and names buffers of the
// plan; for the dims of a call each must have the bytes that the kernel takes it to have.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

namespace tessera::format {

/// What can be said of all launches when a plan is read: they have the buffers and dims that the
/// metadata asks for, of its dtypes and alignments, results are not what `find_read_only` names, and
/// where a launch's sizes are numbers they fit. `kernels` are the metadata beside Plan::kernels.
Outcome check_launches(const Plan& plan, std::span<const KernelMeta* const> kernels);

/// Grid and scratch memory of a kernel for its dims. `programs` is 0 when an extent is 0. Fails when
/// the dims break an assumption of the kernel, or when a size is no count.
Outcome size_kernel(const KernelMeta& kernel, std::span<const int64_t> dims, int64_t& programs,
                    int64_t& scratch_bytes);

/// The bytes of one of the kernel's buffers for its dims.
Result<int64_t> kernel_buffer_bytes(const KernelMeta& kernel, size_t buffer,
                                    std::span<const int64_t> dims);

/// The launch's buffers have the bytes that the kernel takes them to have; `bytes` is beside
/// Plan::buffers.
Outcome fit_launch(const Plan& plan, const LaunchStep& launch, const KernelMeta& kernel,
                   std::span<const int64_t> dims, std::span<const int64_t> bytes);

/// Which of the plan's expressions change with the iterations of a loop.
std::vector<bool> varying_exprs(const Plan& plan);

/// Whether sizes, grid, scratch memory or assumptions of the kernel read one of these dims.
bool sizes_read(const KernelMeta& kernel, const std::vector<bool>& dims);

}  // namespace tessera::format
