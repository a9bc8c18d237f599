// Combines integers of 64 bits that fit 32 in 32.
//
//   reduce min (select c, iota, full 1000) : i64   becomes   cast (reduce min (select c, iota, full 1000) : i32)
//
// Such are the places of extremes: numbers along an axis of known extent, and constants. Machines compare 64 bits in
// several instructions, and threads exchange them in two. What no element was combined to is the identity of i64.

#include <limits>
#include <map>

#include "ir/core/common_attributes.h"
#include "ir/core/dim_facts.h"
#include "ir/tile/build.h"
#include "passes/pass.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;
using Kind = ElementwiseKind;

class IntegerNarrowing {
 public:
  explicit IntegerNarrowing(Op* kernel)
      : kernel_(kernel),
        builder_(*kernel->module()),
        table_(kernel->module()->context().dims()),
        known_(read_facts(kernel->attr(common::Kernel::assume))) {}

  void run() {
    std::vector<Op*> found;
    walk(kernel_, [&](Op* op) {
      if (!op->is(tile::info(OpKind::Reduce)) || op->result()->type()->dtype != DType::I64) return;
      std::string_view kind = op->attr(attr::Reduce::kind);
      if ((kind == "min" || kind == "max") && fits(op->in(in::Reduce::a))) found.push_back(op);
    });
    for (Op* op : found) narrow(op);
  }

 private:
  /// The identities of minima and maxima in 32 bits are no values.
  static constexpr int64_t most = std::numeric_limits<int32_t>::max() - 1;

  bool fits(int64_t number) const { return -most <= number && number <= most; }

  bool fits(Dim dim) const {
    auto holds = [&](Relation relation, int64_t bound) {
      return decide(table_, {relation, dim, table_.constant(bound)}, known_) == true;
    };
    return holds(Relation::LessEqual, most) && holds(Relation::GreaterEqual, -most);
  }

  bool fits(Value* value) {
    auto known = fits_.find(value);
    if (known != fits_.end()) return known->second;
    return fits_[value] = is_made_of_fitting(value);
  }

  bool is_made_of_fitting(Value* value) {
    Op* op = value->def();
    if (!op || value->type()->dtype != DType::I64) return false;
    switch (tile::kind_of(op)) {
      case OpKind::Constant: {
        std::optional<int64_t> number = tile::known_index(value);
        return number && fits(*number);
      }
      case OpKind::Full: {
        Attr number = op->attr(attr::Full::value);
        return number->is(AttrKind::Int) && fits(number->integer);
      }
      case OpKind::Dim: return fits(op->attr(attr::Dim::value));
      case OpKind::Iota: {
        return !op->in(in::Iota::start) && fits(value->type()->dims[size_t(op->attr(attr::Iota::axis))]);
      }
      case OpKind::Splat:
      case OpKind::Broadcast:
      case OpKind::Reshape: return fits(op->operand(0));
      default:
        if (op->info().elementwise == Kind::Select) return fits(op->operand(1)) && fits(op->operand(2));
        if (op->info().elementwise != Kind::Min && op->info().elementwise != Kind::Max) return false;
        return fits(op->operand(0)) && fits(op->operand(1));
    }
  }

  Type in_32_bits(Type type) { return builder_.context().tile(type->dims, DType::I32); }

  Value* narrowed(Value* value) {
    auto known = narrow_.find(value);
    if (known != narrow_.end()) return known->second;
    if (!value->type()->is(TypeKind::Tile)) return narrow_[value] = tile::cast(builder_, value, DType::I32);
    Op* op = value->def();
    std::map<Value*, Value*> operands;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      Value* operand = op->operand(i);
      if (operand->type()->dtype == DType::I64) operands[operand] = narrowed(operand);
    }
    Op* made = builder_.module().clone(op, operands);
    builder_.insert(made);
    made->result()->set_type(in_32_bits(value->type()));
    return narrow_[value] = made->result();
  }

  void narrow(Op* reduce) {
    builder_.set_before(reduce);
    builder_.set_loc(reduce->loc());
    narrow_.clear();
    Value* a = reduce->in(in::Reduce::a);
    std::map<Value*, Value*> operands{{a, narrowed(a)}};
    Op* made = builder_.module().clone(reduce, operands);
    builder_.insert(made);
    Type type = reduce->result()->type(), narrow = in_32_bits(type);
    made->result()->set_type(narrow);
    Value* result = tile::cast(builder_, made->result(), DType::I64);
    if (reduce->in(in::Reduce::limit)) {
      std::string_view kind = reduce->attr(attr::Reduce::kind);
      auto identity = [&](Type of) {
        return tile::full(builder_, of, tile::reduction_identity(builder_.context(), kind, of->dtype));
      };
      Value* is_none = tile::elementwise(builder_, Kind::Eq, {made->result(), identity(narrow)});
      result = tile::elementwise(builder_, Kind::Select, {is_none, identity(type), result});
    }
    reduce->result()->replace_all_uses(result);
    reduce->erase();
  }

  Op* kernel_;
  Builder builder_;
  DimTable& table_;
  std::vector<DimFact> known_;
  std::map<Value*, bool> fits_;
  std::map<Value*, Value*> narrow_;  ///< of the reduction at hand
};

}  // namespace

Status narrow_integers(Module& module, PassContext&) {
  for (Op* op : *module.body()) {
    if (op->is(tile::info(OpKind::Kernel))) IntegerNarrowing(op).run();
  }
  return success;
}

}  // namespace tessera
