#include "runtime/core/bind.h"

#include <cstring>
#include <optional>

namespace tessera::runtime {

namespace {

using format::BufferKind;
using format::DimSource;
using format::Expr;
using format::ExprOp;
using format::in_quotes;
using format::Plan;
using format::PlanBuffer;

std::string shape_of(const Plan& plan, const PlanBuffer& buffer, const std::vector<std::string>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < buffer.shape.size(); ++i) {
    if (i) out += ", ";
    out += format::expr_text(plan.exprs[buffer.shape[i]], dims);
  }
  return out + "]";
}

std::vector<std::string> dim_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const format::PlanDim& dim : plan.dims) names.push_back(dim.name);
  return names;
}

bool binds_dims(const PlanBuffer& buffer) {
  return buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Param;
}

template <typename T>
bool read_integer(const char* data, int64_t& value) {
  T number;
  std::memcpy(&number, data, sizeof number);
  value = int64_t(number);
  return std::is_signed_v<T> || value >= 0;
}

/// False for an unsigned number beyond i64.
bool read_scalar(format::Dtype dtype, const char* data, int64_t& value) {
  switch (dtype) {
    case format::Dtype::I64:
      return read_integer<int64_t>(data, value);
    case format::Dtype::I32:
      return read_integer<int32_t>(data, value);
    case format::Dtype::I16:
      return read_integer<int16_t>(data, value);
    case format::Dtype::I8:
      return read_integer<int8_t>(data, value);
    case format::Dtype::U64:
      return read_integer<uint64_t>(data, value);
    case format::Dtype::U32:
      return read_integer<uint32_t>(data, value);
    case format::Dtype::U16:
      return read_integer<uint16_t>(data, value);
    case format::Dtype::U8:
      return read_integer<uint8_t>(data, value);
    default:
      return false;
  }
}

class Binder {
 public:
  Binder(const Plan& plan, const DeclaredPlaces& places, std::span<const Argument> arguments,
         std::vector<int64_t>& dims, std::vector<DimOrigin>& origins)
      : plan_(plan), places_(places), arguments_(arguments), dims_(dims), origins_(origins) {}

  Status bind() {
    dims_.assign(plan_.dims.size(), 0);
    origins_.assign(plan_.dims.size(), {});
    if (Status status = check_ranks(); status.failed()) return status;
    bind_bare_dims();
    if (Status status = bind_scalars(); status.failed()) return status;
    if (Status status = check_extents(); status.failed()) return status;
    return check_guards();
  }

 private:
  bool is_known(size_t dim) const { return origins_[dim].buffer != SIZE_MAX; }

  Status check_ranks() const {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (!binds_dims(buffer) || arguments_[i].shape.size() == buffer.shape.size()) continue;
      return invalid(plan_.entry, ": ", buffer_title(buffer), " has rank ",
                     arguments_[i].shape.size(), "; expected rank ", buffer.shape.size(), ", ",
                     declared_shape(plan_, buffer));
    }
    return ok();
  }

  void bind_bare_dims() {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (!binds_dims(buffer)) continue;
      for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
        const Expr& expr = plan_.exprs[buffer.shape[axis]];
        if (expr.size() != 1 || expr[0].op != ExprOp::Dim) continue;
        size_t dim = size_t(expr[0].value);
        if (plan_.dims[dim].source != DimSource::Shape || is_known(dim)) continue;
        dims_[dim] = arguments_[i].shape[axis];
        origins_[dim] = {i, axis};
      }
    }
  }

  Status bind_scalars() {
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      if (plan_.dims[i].source != DimSource::Scalar) continue;
      const PlanBuffer& buffer = plan_.buffers[plan_.dims[i].buffer];
      const Argument& argument = arguments_[plan_.dims[i].buffer];
      const char* value = argument.host_data();
      if (!value || !read_scalar(buffer.dtype, value, dims_[i])) {
        return invalid(plan_.entry, ": ", buffer_title(buffer), " has no value that fits i64");
      }
    }
    return ok();
  }

  Status check_extents() const {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (!binds_dims(buffer)) continue;
      for (size_t axis = 0; axis < buffer.shape.size(); ++axis) {
        const Expr& expr = plan_.exprs[buffer.shape[axis]];
        int64_t expected = 0;
        format::EvalStatus status = format::evaluate(expr, dims_, expected);
        if (status == format::EvalStatus::Ok && expected == arguments_[i].shape[axis]) continue;
        return extent_error(i, axis, expr, status, expected);
      }
    }
    return ok();
  }

  Status extent_error(size_t index, size_t axis, const Expr& expr, format::EvalStatus status,
                      int64_t expected) const {
    std::string text = format::expr_text(expr, dim_names(plan_));
    std::string place = format::cat(plan_.entry, ": ", axis_title(index, axis), ": ");
    if (status != format::EvalStatus::Ok) {
      return invalid(place, "expected ", text, ", but ", format::eval_status_text(status),
                     values_of(expr, "; "));
    }
    bool is_number = expr.size() == 1 && expr[0].op == ExprOp::Const;
    std::string value = is_number ? "" : format::cat(" = ", expected);
    return invalid(place, "expected ", text, value, ", got ", arguments_[index].shape[axis],
                   values_of(expr, "; "));
  }

  /// "input 'x', axis 1 (mlp.tsr:5:19)".
  std::string axis_title(size_t buffer, size_t axis) const {
    std::string_view place = places_.extent(buffer, axis);
    return format::cat(buffer_title(plan_.buffers[buffer]), ", axis ", axis, place.empty() ? "" : " (",
                       place, place.empty() ? "" : ")");
  }

  /// "D = 768 from parameter 'w', axis 0" for each dim that the expression reads.
  std::string values_of(const Expr& expr, std::string_view lead) const {
    std::string out;
    for (size_t dim = 0; dim < plan_.dims.size(); ++dim) {
      if (!format::reads_dim(expr, uint32_t(dim))) continue;
      out += format::cat(out.empty() ? lead : ", ", plan_.dims[dim].name, " = ", dims_[dim]);
      if (is_known(dim)) {
        out += format::cat(" from ", axis_title(origins_[dim].buffer, origins_[dim].axis));
      } else if (plan_.dims[dim].source == DimSource::Scalar) {
        out += format::cat(" from ", buffer_title(plan_.buffers[plan_.dims[dim].buffer]));
      }
    }
    return out;
  }

  /// ": 36 == 0", the numbers that a comparison compares; empty for other conditions.
  std::string sides_of(const Expr& expr) const {
    std::optional<format::Comparison> comparison = format::comparison_of(expr);
    int64_t left = 0;
    int64_t right = 0;
    if (!comparison) return {};
    bool known = format::evaluate(comparison->left, dims_, left) == format::EvalStatus::Ok &&
                 format::evaluate(comparison->right, dims_, right) == format::EvalStatus::Ok;
    if (!known) return {};
    Expr numbers = format::binary_expr(comparison->op, format::const_expr(left), format::const_expr(right));
    return format::cat(": ", format::expr_text(numbers, {}));
  }

  Status check_guards() const {
    for (const format::PlanGuard& guard : plan_.guards) {
      const Expr& expr = plan_.exprs[guard.condition];
      int64_t holds = 0;
      format::EvalStatus status = format::evaluate(expr, dims_, holds);
      if (status == format::EvalStatus::Ok && holds != 0) continue;
      std::string_view why =
          status == format::EvalStatus::Ok ? "" : format::eval_status_text(status);
      return invalid(plan_.entry, ": ", guard.message, sides_of(expr), why.empty() ? "" : "; ", why,
                     values_of(expr, "; "));
    }
    return ok();
  }

  const Plan& plan_;
  const DeclaredPlaces& places_;
  std::span<const Argument> arguments_;
  std::vector<int64_t>& dims_;
  std::vector<DimOrigin>& origins_;
};

}  // namespace

std::string_view DeclaredPlaces::extent(size_t buffer, size_t axis) const {
  bool known = buffer < extents.size() && axis < extents[buffer].size();
  return known ? std::string_view(extents[buffer][axis]) : std::string_view();
}

Status bind_dims(const Plan& plan, const DeclaredPlaces& places,
                 std::span<const Argument> arguments, std::vector<int64_t>& dims,
                 std::vector<DimOrigin>& origins) {
  return Binder(plan, places, arguments, dims, origins).bind();
}

std::string buffer_title(const PlanBuffer& buffer) {
  std::string_view kind = buffer.kind == BufferKind::Input    ? "input "
                          : buffer.kind == BufferKind::Param  ? "parameter "
                          : buffer.kind == BufferKind::Output ? "output "
                          : buffer.kind == BufferKind::Temp   ? "temporary "
                                                              : "constant ";
  return format::cat(kind, in_quotes(buffer.name));
}

std::vector<std::string> declared_shapes(const Plan& plan, std::span<const uint32_t> buffers) {
  std::vector<std::string> names = dim_names(plan);
  std::vector<std::string> shapes;
  for (uint32_t buffer : buffers) shapes.push_back(shape_of(plan, plan.buffers[buffer], names));
  return shapes;
}

std::string declared_shape(const Plan& plan, const PlanBuffer& buffer) {
  return shape_of(plan, buffer, dim_names(plan));
}

}  // namespace tessera::runtime
