#include "frontend/lower/kernel/weak_value.h"

#include <map>

#include "frontend/evaluate/evaluate.h"
#include "frontend/values/dtype_values.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Makes ops again in f64, operands first. Without recursion: a scalar may have been made in any number of steps.
class Widening {
 public:
  Widening(Evaluator& evaluator, Builder& builder, Loc loc, const OpInfo* cast)
      : evaluator_(evaluator), builder_(builder), loc_(loc), cast_(cast) {}

  Value* run(Value* value) {
    std::vector<Value*> open = {value};
    while (!open.empty()) {
      Value* next = open.back();
      std::vector<Value*> first = wide_.count(next) ? std::vector<Value*>{} : parts(next);
      std::erase_if(first, [&](Value* part) { return wide_.count(part) != 0; });
      open.insert(open.end(), first.begin(), first.end());
      if (!first.empty()) continue;
      open.pop_back();
      if (!wide_.count(next)) wide_[next] = remake(next);
    }
    return wide_[value];
  }

 private:
  static bool is_narrow(const Value* value) { return value->type()->dtype == DType::F32; }
  bool is_cast(const Op* op) const { return op->is(cast_); }

  bool is_remade(const Value* value) const {
    const Op* op = value->def();
    if (!op || !is_narrow(value) || op->result_count() != 1) return false;
    ElementwiseKind kind = op->info().elementwise;
    if (kind == ElementwiseKind::None) return op->operand_count() == 0 && op->region_count() == 0;
    return true;
  }

  /// The operands that have to be made again before the value is.
  std::vector<Value*> parts(const Value* value) const {
    std::vector<Value*> found;
    if (!is_remade(value)) return found;
    const Op* op = value->def();
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (is_narrow(op->operand(i))) found.push_back(op->operand(i));
    }
    return found;
  }

  Value* remake(Value* value) {
    Type type = builder_.context().with_dtype(value->type(), DType::F64);
    if (!is_remade(value)) return builder_.value(cast_, {{value}}, type);
    const Op* op = value->def();
    if (ElementwiseKind kind = op->info().elementwise; !has_code(kind, DType::F64)) {
      evaluator_.report(diag::unsupported_construct, loc_, fmt::format("'{}' of f64", operator_text(kind)))
          .help("it is computed in f32: cast(x, f32)");
    }
    std::vector<std::vector<Value*>> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Value* operand = op->operand(i);
      operands.push_back({is_narrow(operand) ? wide_.at(operand) : operand});
    }
    if (is_cast(op) && is_narrow(op->operand(0))) return operands[0][0];
    std::span<const OpAttr> attributes = op->attributes();
    return builder_.value(&op->info(), std::move(operands), type, {attributes.begin(), attributes.end()});
  }

  Evaluator& evaluator_;
  Builder& builder_;
  Loc loc_;
  const OpInfo* cast_;
  std::map<const Value*, Value*> wide_;
};

}  // namespace

Value* in_double(Evaluator& evaluator, Builder& builder, const IrValue& weak, const OpInfo* cast) {
  if (weak.value->type()->dtype == DType::F64) return weak.value;
  return Widening(evaluator, builder, weak.origin, cast).run(weak.value);
}

}  // namespace tessera::frontend
