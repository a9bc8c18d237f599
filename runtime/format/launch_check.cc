#include "runtime/format/launch_check.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "runtime/files/text.h"
#include "runtime/format/plan_views.h"

namespace tessera::format {

namespace {

bool is_number(const Expr& expr) {
  return std::ranges::none_of(expr, [](const ExprInstr& instr) { return instr.op == ExprOp::Dim; });
}

/// "M = 3, N = 4".
std::string values_text(const KernelMeta& kernel, std::span<const int64_t> dims) {
  std::string out;
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    out += cat(out.empty() ? "" : ", ", kernel.dims[i], " = ", dims[i]);
  }
  return out;
}

/// What does not depend on the dims.
Outcome check_arguments(const Plan& plan, const LaunchStep& launch, const KernelMeta& kernel,
                        const std::vector<bool>& read_only) {
  if (launch.buffers.size() != kernel.buffers.size()) {
    return error("it has ", launch.buffers.size(), " buffers instead of ", kernel.buffers.size());
  }
  if (launch.dims.size() != kernel.dims.size()) {
    return error("it has ", launch.dims.size(), " dims instead of ", kernel.dims.size());
  }
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const PlanBuffer& given = plan.buffers[launch.buffers[i]];
    const KernelBuffer& wanted = kernel.buffers[i];
    if (given.dtype != wanted.dtype) {
      return error(in_quotes(wanted.name), " is ", dtype_name(wanted.dtype), ", and ",
                   in_quotes(given.name), " is ", dtype_name(given.dtype));
    }
    if (given.alignment % wanted.alignment != 0) {
      return error(in_quotes(wanted.name), " is at a multiple of ", wanted.alignment, " bytes, and ",
                   in_quotes(given.name), " of ", given.alignment);
    }
    if (wanted.result && read_only[launch.buffers[i]]) {
      return error("it writes ", in_quotes(given.name), ", which is only read");
    }
  }
  return {};
}

/// Compares dims and buffers whose sizes are numbers. What many launches ask for is found once: the plan's numbers, the
/// bytes of its buffers, and those that a kernel takes its buffers to have for some dims.
class NumberCheck {
 public:
  explicit NumberCheck(const Plan& plan) : plan_(plan) {
    for (const Expr& expr : plan.exprs) {
      int64_t value = 0;
      bool known = is_number(expr) && evaluate(expr, {}, value) == EvalStatus::Ok;
      numbers_.push_back(known ? std::optional(value) : std::nullopt);
    }
    for (const PlanBuffer& buffer : plan.buffers) given_.push_back(bytes_given(buffer));
  }

  Outcome check(const LaunchStep& launch, const KernelMeta& kernel) {
    std::optional<std::vector<int64_t>> dims = numbers_of(launch.dims);
    if (!dims) return {};
    auto [at, is_new] = wanted_.try_emplace({launch.kernel, *dims}, kernel.buffers.size());
    std::vector<std::optional<int64_t>>& all_wanted = at->second;
    for (size_t i = 0; i < launch.buffers.size(); ++i) {
      const std::optional<int64_t>& given = given_[launch.buffers[i]];
      if (!given) continue;
      std::optional<int64_t>& wanted = all_wanted[i];
      if (!wanted) {
        Result<int64_t> bytes = kernel_buffer_bytes(kernel, i, *dims);
        if (!bytes) return bytes.error();
        wanted = *bytes;
      }
      if (*given >= *wanted) continue;
      const PlanBuffer& buffer = plan_.buffers[launch.buffers[i]];
      return error(in_quotes(kernel.buffers[i].name), " has ", *wanted, " bytes for its dims, and ",
                   in_quotes(buffer.name), " is ", dtype_name(buffer.dtype), shape_text(*numbers_of(buffer.shape)));
    }
    return {};
  }

 private:
  std::optional<std::vector<int64_t>> numbers_of(const std::vector<uint32_t>& exprs) const {
    std::vector<int64_t> values;
    for (uint32_t expr : exprs) {
      if (!numbers_[expr]) return std::nullopt;
      values.push_back(*numbers_[expr]);
    }
    return values;
  }

  /// Nothing where they are not known yet; -1 where there is no such count.
  std::optional<int64_t> bytes_given(const PlanBuffer& buffer) const {
    std::optional<std::vector<int64_t>> shape = numbers_of(buffer.shape);
    if (!shape) return std::nullopt;
    std::optional<int64_t> count = element_count(*shape);
    return count ? bytes_of(buffer.dtype, *count).value_or(-1) : -1;
  }

  const Plan& plan_;
  std::vector<std::optional<int64_t>> numbers_;  ///< beside Plan::exprs
  std::vector<std::optional<int64_t>> given_;    ///< beside Plan::buffers
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::vector<std::optional<int64_t>>> wanted_;
};

bool reads_any(const Expr& expr, const std::vector<bool>& dims) {
  return std::ranges::any_of(expr, [&](const ExprInstr& instr) {
    return instr.op == ExprOp::Dim && dims[size_t(instr.value)];
  });
}

bool any_reads(const std::vector<Expr>& exprs, const std::vector<bool>& dims) {
  return std::ranges::any_of(exprs, [&](const Expr& expr) { return reads_any(expr, dims); });
}

}  // namespace

Outcome check_launches(const Plan& plan, std::span<const KernelMeta* const> kernels) {
  std::vector<bool> read_only = find_read_only(plan);
  NumberCheck numbers(plan);
  for (size_t step = 0; step < plan.steps.size(); ++step) {
    const auto* launch = std::get_if<LaunchStep>(&plan.steps[step]);
    if (!launch) continue;
    const KernelMeta& kernel = *kernels[launch->kernel];
    Outcome checked = check_arguments(plan, *launch, kernel, read_only);
    if (checked) checked = numbers.check(*launch, kernel);
    if (checked) continue;
    return error("step ", step, " launches the kernel ", in_quotes(kernel.name),
                 " with arguments that do not fit it: ", checked.error().text);
  }
  return {};
}

Outcome size_kernel(const KernelMeta& kernel, std::span<const int64_t> dims, int64_t& programs,
                    int64_t& scratch_bytes) {
  for (const Expr& condition : kernel.assume) {
    int64_t holds = 0;
    EvalStatus status = evaluate(condition, dims, holds);
    if (status == EvalStatus::Ok && holds != 0) continue;
    return error("it was compiled for sizes where ", expr_text(condition, kernel.dims), ", which is not so for ",
                 values_text(kernel, dims));
  }
  programs = 1;
  bool is_empty = false;
  bool overflows = false;
  for (const Expr& extent_expr : kernel.grid) {
    int64_t extent = 0;
    EvalStatus status = evaluate(extent_expr, dims, extent);
    if (status != EvalStatus::Ok || extent < 0) {
      return error("the extent ", expr_text(extent_expr, kernel.dims), " of its grid is not a count");
    }
    is_empty |= extent == 0;
    overflows |= __builtin_mul_overflow(programs, extent, &programs);
  }
  if (is_empty) programs = 0;
  scratch_bytes = 0;
  EvalStatus status = evaluate(kernel.scratch, dims, scratch_bytes);
  if (status == EvalStatus::Ok && scratch_bytes >= 0 && (is_empty || !overflows)) return {};
  return error("its grid or scratch memory is too large for these dims");
}

Result<int64_t> kernel_buffer_bytes(const KernelMeta& kernel, size_t buffer,
                                    std::span<const int64_t> dims) {
  const KernelBuffer& wanted = kernel.buffers[buffer];
  std::array<int64_t, max_kernel_rank> shape;
  bool known = true;
  for (size_t i = 0; i < wanted.shape.size(); ++i) {
    known &= evaluate(wanted.shape[i], dims, shape[i]) == EvalStatus::Ok;
  }
  auto count = known ? element_count({shape.data(), wanted.shape.size()}) : std::nullopt;
  auto bytes = count ? bytes_of(wanted.dtype, *count) : std::nullopt;
  if (bytes) return *bytes;
  return error(in_quotes(wanted.name), " has no size for ", values_text(kernel, dims));
}

Outcome fit_launch(const Plan& plan, const LaunchStep& launch, const KernelMeta& kernel,
                   std::span<const int64_t> dims, std::span<const int64_t> bytes) {
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    Result<int64_t> wanted = kernel_buffer_bytes(kernel, i, dims);
    if (!wanted) return wanted.error();
    int64_t given = bytes[launch.buffers[i]];
    if (given >= *wanted) continue;
    return error(in_quotes(kernel.buffers[i].name), " has ", *wanted, " bytes for ", values_text(kernel, dims),
                 ", and ", in_quotes(plan.buffers[launch.buffers[i]].name), " has ", given);
  }
  return {};
}

std::vector<bool> varying_exprs(const Plan& plan) {
  std::vector<bool> counters;
  for (const PlanDim& dim : plan.dims) counters.push_back(dim.source == DimSource::Loop);
  std::vector<bool> varying;
  for (const Expr& expr : plan.exprs) varying.push_back(reads_any(expr, counters));
  return varying;
}

bool sizes_read(const KernelMeta& kernel, const std::vector<bool>& dims) {
  bool shapes = std::ranges::any_of(kernel.buffers, [&](const KernelBuffer& buffer) {
    return any_reads(buffer.shape, dims);
  });
  return shapes || any_reads(kernel.grid, dims) || any_reads(kernel.assume, dims) ||
         reads_any(kernel.scratch, dims);
}

}  // namespace tessera::format
