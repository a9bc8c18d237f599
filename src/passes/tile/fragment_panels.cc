#include "passes/tile/fragment_panels.h"

#include "passes/tile/fragment_stages.h"

namespace tessera {

using tile::OpKind;
namespace in = tile::in;

namespace {

using Values = FragmentEmitter::Values;

/// Rows of the right operand that are copied at once; where its columns are what lies in one piece,
/// as many as make whole vectors along them, which are transposed in registers.
constexpr int64_t copied_rows = 4;
constexpr int64_t transposed_rows = 16;

/// Whether the elements along program axis `axis` of what is loaded lie one after the other.
bool lies_along(Value* value, int axis, const TileAxes& axes) {
  Op* def = value->def();
  if (!def) return false;
  if (!def->is(tile::info(OpKind::Load))) {
    return def->operand_count() > 0 && lies_along(def->operand(0), axis, axes);
  }
  Type memory = def->in(in::Load::memory)->type();
  size_t lead = memory->rank() - value->type()->rank();
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    bool last = i + 1 == value->type()->rank();
    bool unit = memory->is(TypeKind::View) ? memory->strides[lead + i]->is_constant(1) : last;
    if (unit && axes.of(value, i) == axis) return true;
  }
  return false;
}

class Packing {
 public:
  Packing(FragmentEmitter& emitter, Op* dot, const PanelShape& shape)
      : emitter_(emitter),
        dot_(dot),
        shape_(shape),
        k_(emitter.axes().of(dot->in(in::Dot::a), 1)) {}

  void run(Attr schedule) {
    if (k_ < 0) return;
    auto others = emitter_.take_panels();
    Attr word = schedule->get("packing");
    std::string_view wanted = word ? std::string_view(word->string) : std::string_view();
    bool both = wanted == "both";
    Value* a = dot_->in(in::Dot::a);
    Value* b = dot_->in(in::Dot::b);
    bool pays_a = wanted.empty() && is_longer(shape_.column, shape_.columns);
    bool pays_b = wanted.empty() && shape_.row >= 0 && is_longer(shape_.row, 2 * shape_.rows);
    bool packs_b =
        (both || wanted == "b" || pays_b) && !others.contains(b) && is_readable(b, emitter_.axes());
    bool packs_a =
        (both || wanted == "a" || pays_a) && !others.contains(a) && is_readable(a, emitter_.axes());
    if (packs_b) pack_right(b);
    others.merge(emitter_.take_panels());
    if (packs_a && shape_.row >= 0) pack_left(a);
    emitter_.put_panels(std::move(others));
  }

 private:
  Context& context() { return emitter_.context(); }
  DimTable& dims() { return context().dims(); }
  DType dtype() const { return dot_->result()->type()->dtype; }

  bool is_longer(int axis, int64_t extent) {
    std::optional<int64_t> known = emitter_.axes().extent(axis)->constant();
    return !known || *known > extent;
  }

  Dim rounded(int axis, int64_t unit) {
    Dim size = dims().constant(unit);
    return dims().mul(dims().ceildiv(emitter_.axes().extent(axis), size), size);
  }

  void pack_right(Value* b) {
    Dim n = rounded(shape_.column, shape_.columns), k = emitter_.axes().extent(k_);
    Dim columns = dims().constant(shape_.columns), one = dims().constant(1);
    Value* memory = emitter_.scratch(dims().mul(n, k), dtype());
    Value* panels = emitter_.view(memory, {n, k, columns}, {k, columns, one}, dims().constant(0));
    emitter_.set_shape(k_, shape_.column);
    auto copy = [&](const Values&) {
      Value* fragment = tile::cast(emitter_.builder(), emitter_.demand(b), dtype());
      tile::store(
          emitter_.builder(), fragment, panels,
          {emitter_.binding(shape_.column).start, emitter_.binding(k_).start, emitter_.zero()}, {});
      return Values{};
    };
    int64_t rows = lies_along(b, k_, emitter_.axes()) ? transposed_rows : copied_rows;
    emitter_.loop(shape_.column, shape_.columns, shape_.column_limit, TailKind::Limited, {},
                  [&](const Values&) {
                    return emitter_.loop(k_, rows, dot_->in(in::Dot::limit), TailKind::Ones, {},
                                         copy);
                  });
    emitter_.keep_in_panels(b, [=, &emitter = emitter_, column = shape_.column, k_axis = k_] {
      Type type = emitter.context().tile({one, columns}, memory->type()->dtype);
      return tile::load(
          emitter.builder(), panels,
          {emitter.binding(column).start, emitter.binding(k_axis).start, emitter.zero()}, {}, type);
    });
  }

  void pack_left(Value* a) {
    Dim m = rounded(shape_.row, shape_.rows), k = rounded(k_, shape_.run);
    Dim rows = dims().constant(shape_.rows), run = dims().constant(shape_.run),
        one = dims().constant(1);
    Value* memory = emitter_.scratch(dims().mul(m, k), dtype());
    Value* panels =
        emitter_.view(memory, {m, k, rows, run}, {k, rows, run, one}, dims().constant(0));
    emitter_.set_shape(shape_.row, k_);
    auto copy = [&](const Values&) {
      Value* fragment = tile::cast(emitter_.builder(), emitter_.demand(a), dtype());
      Value* zero = emitter_.zero();
      tile::store(emitter_.builder(), fragment, panels,
                  {emitter_.binding(shape_.row).start, emitter_.binding(k_).start, zero, zero}, {});
      return Values{};
    };
    emitter_.loop(shape_.row, shape_.rows, shape_.row_limit, TailKind::Limited, {},
                  [&](const Values&) {
                    return emitter_.loop(k_, shape_.run, dot_->in(in::Dot::limit),
                                         TailKind::Limited, {}, copy);
                  });
    emitter_.keep_in_panels(a, [=, &emitter = emitter_, row = shape_.row, k_axis = k_] {
      const AxisBinding& k = emitter.binding(k_axis);
      Type type = emitter.context().tile({rows, one}, memory->type()->dtype);
      return tile::load(emitter.builder(), panels,
                        {emitter.binding(row).start, k.block, emitter.zero(), k.within}, {}, type);
    });
  }

  FragmentEmitter& emitter_;
  Op* dot_;
  const PanelShape& shape_;
  int k_;
};

}  // namespace

void pack_operands(FragmentEmitter& emitter, Op* dot, const PanelShape& shape, Attr schedule) {
  Packing(emitter, dot, shape).run(schedule);
}

}  // namespace tessera
