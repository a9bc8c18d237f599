// Random graphs compute the same bits before and after the graph passes. Operands are drawn from
// what the graph has so far, and constants are those that patterns look for, so that most patterns
// apply somewhere.

#include <algorithm>
#include <random>

#include "ir/graph/build.h"
#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;
using namespace tessera::graph;

namespace {

constexpr DType dtypes[] = {DType::F32, DType::BF16, DType::F16, DType::F64, DType::F8E4M3,
                            DType::I32, DType::I8,   DType::U8,  DType::U64, DType::Bool};

class GraphMaker {
 public:
  GraphMaker(Op* function, unsigned seed) : random_(seed), b_(*function->module()) {
    Block* body = function->region()->front();
    b_.set_before(body->terminator());
    for (unsigned i = 0; i < body->arg_count(); ++i) values_.push_back(body->arg(i));
  }

  void add_ops(size_t count) {
    while (values_.size() < count) add_op();
  }
  /// Returns the last values; without them most of the graph would be dropped.
  void finish(Op* function, size_t results) {
    std::vector<Value*> last(values_.end() - std::ptrdiff_t(results), values_.end());
    function->region()->front()->terminator()->set_slot(in::Return::values, last);
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  Value* any() { return values_[below(values_.size())]; }

  Dim constant(int64_t value) { return b_.context().dims().constant(value); }

  /// A value of that type if there is one, sometimes a constant.
  Value* like(Type type) {
    std::vector<Value*> same;
    for (Value* v : values_) {
      if (v->type()->dtype == type->dtype && same_dims(v->type(), type)) same.push_back(v);
    }
    if (same.empty() || below(3) == 0) return number(type);
    return same[below(same.size())];
  }

  Value* number(Type type) {
    constexpr double floats[] = {0.0, -0.0, 1, -1, 2, 0.5, 3, infinity, 0x1p-14};
    constexpr double integers[] = {0, 1, 2, 3, 8, 31};
    double value = is_float(type->dtype)        ? floats[below(std::size(floats))]
                   : type->dtype == DType::Bool ? double(below(2))
                                                : integers[below(std::size(integers))];
    if (below(2)) return full(b_, value, type->dims, type->dtype);
    return broadcast_to(b_, full(b_, value, {}, type->dtype), type->dims);
  }

  static bool takes(ElementwiseClass cls, DType dtype) {
    switch (cls) {
      case ElementwiseClass::Arithmetic:
        return dtype != DType::Bool;
      case ElementwiseClass::Real:
        return is_float(dtype);
      case ElementwiseClass::Logical:
        return !is_float(dtype);
      default:
        return true;
    }
  }

  Value* elementwise_op(Value* a) {
    ElementwiseKind kind = ElementwiseKind(1 + below(size_t(ElementwiseKind::Cast) - 1));
    const ElementwiseInfo& row = elementwise_info(kind);
    if (!takes(row.cls, a->type()->dtype)) return nullptr;
    if (row.cls == ElementwiseClass::Choose) {
      return select(b_, like(b_.context().with_dtype(a->type(), DType::Bool)), a, like(a->type()));
    }
    if (row.operands == 1) return elementwise(b_, kind, {a});
    if (row.operands == 3) return elementwise(b_, kind, {a, like(a->type()), like(a->type())});
    return below(2) ? elementwise(b_, kind, {a, like(a->type())})
                    : elementwise(b_, kind, {like(a->type()), a});
  }

  Value* transposed(Value* a) {
    std::vector<int64_t> perm;
    for (size_t i = 0; i < a->type()->rank(); ++i) perm.push_back(int64_t(i));
    std::shuffle(perm.begin(), perm.end(), random_);
    return transpose(b_, a, perm);
  }

  Value* sliced(Value* a) {
    std::vector<Dim> starts, dims;
    std::vector<int64_t> steps;
    for (Dim d : a->type()->dims) {
      int64_t extent = *d->constant(), step = 1 + int64_t(below(2));
      int64_t start = below(2) ? 0 : int64_t(below(size_t(extent) + 1));
      starts.push_back(constant(start));
      steps.push_back(step);
      dims.push_back(constant((extent - start + step - 1) / step));
    }
    return slice(b_, a, starts, steps, dims);
  }

  Value* reshaped(Value* a) {
    std::vector<Dim> dims = a->type()->dims;
    if (below(2) && dims.size() < 4) {
      dims.insert(dims.begin() + std::ptrdiff_t(below(dims.size() + 1)), constant(1));
    } else if (below(2)) {
      dims = {element_count(b_.context().dims(), dims)};
    } else {
      std::reverse(dims.begin(), dims.end());
    }
    return reshape(b_, a, dims);
  }

  Value* repeated(Value* a) {
    std::vector<Dim> dims = a->type()->dims;
    for (Dim& d : dims) {
      if (d->is_constant(1) && below(2)) d = constant(3);
    }
    if (dims.size() < 4 && below(2)) dims.insert(dims.begin(), constant(1 + int64_t(below(2))));
    if (*element_count(b_.context().dims(), dims)->constant() > 2000) return nullptr;
    return broadcast_to(b_, a, dims);
  }

  Value* product(Value* a) {
    if (a->type()->rank() < 2 || a->type()->dtype == DType::Bool) return nullptr;
    DType dtype = a->type()->dtype;
    DType accum = is_float(dtype) && dtype != DType::F64 ? DType::F32 : dtype;
    size_t rank = a->type()->rank();
    std::vector<int64_t> perm;
    for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
    std::swap(perm[rank - 1], perm[rank - 2]);
    Value* turned = transpose(b_, a, perm);
    return below(2) ? gemm(b_, a, turned, accum) : gemm(b_, turned, a, accum);
  }

  Value* summed(Value* a) {
    if (a->type()->rank() == 0 || a->type()->dtype == DType::Bool) return nullptr;
    constexpr const char* kinds[] = {"sum", "prod", "max", "min"};
    int64_t axis = int64_t(below(a->type()->rank()));
    return reduce(b_, a, kinds[below(4)], {axis}, below(2) == 0);
  }

  Value* joined(Value* a) {
    if (a->type()->rank() == 0) return nullptr;
    std::vector<Value*> parts = {a};
    if (below(2)) parts.push_back(like(a->type()));
    return concat(b_, parts, int64_t(below(a->type()->rank())));
  }

  void add_op() {
    Value* a = any();
    Value* made = nullptr;
    switch (below(14)) {
      case 0:
        made = transposed(a);
        break;
      case 1:
        made = sliced(a);
        break;
      case 2:
        made = reshaped(a);
        break;
      case 3:
        made = repeated(a);
        break;
      case 4:
        made = product(a);
        break;
      case 5:
        made = summed(a);
        break;
      case 6:
        made = joined(a);
        break;
      case 7:
      case 8:
        made = cast(b_, a, dtypes[below(std::size(dtypes))]);
        break;
      default:
        made = elementwise_op(a);
        break;
    }
    if (made) values_.push_back(made);
  }

  std::mt19937 random_;
  Builder b_;
  std::vector<Value*> values_;
};

/// A tensor with all special numbers among its elements, as far as there is room.
TensorValue special_tensor(DType dtype, const std::vector<int64_t>& dims, unsigned seed) {
  std::vector<double> values = some_numbers(*count_elements(dims), seed);
  for (size_t i = 0; i < values.size(); i += 2) {
    values[i] = special_numbers()[(i + seed * 7) % special_numbers().size()];
  }
  return tensor(dtype, dims, values);
}

void check_graph(unsigned seed) {
  constexpr size_t results = 4;
  GraphPassTest test;
  std::string returned = "gir.return [%a, %b, %c, %d]";
  Op* before = test.function({"%a: tensor<4 x 3, f32>", "%b: tensor<3 x 4, bf16>",
                              "%c: tensor<3, i32>", "%d: tensor<4 x 1, u8>"},
                             returned, results);
  GraphMaker maker(before, seed);
  maker.add_ops(24);
  maker.finish(before, results);
  Module* copy = test.parse(print(*before->module()));
  INFO("seed " << seed << "\n" << print(before, {.locations = false}) << test.messages());
  REQUIRE(copy);
  Op* after = copy->body()->front();
  test.run(after, "canonicalize,cse,canonicalize,dce");
  INFO("becomes\n" << print(after, {.locations = false}));
  std::vector<TensorValue> arguments;
  arguments.push_back(special_tensor(DType::F32, {4, 3}, seed));
  arguments.push_back(special_tensor(DType::BF16, {3, 4}, seed + 1));
  arguments.push_back(special_tensor(DType::I32, {3}, seed + 2));
  arguments.push_back(special_tensor(DType::U8, {4, 1}, seed + 3));
  std::vector<TensorValue> wanted = test.evaluate(before, arguments);
  std::vector<TensorValue> actual = test.evaluate(after, arguments);
  for (size_t i = 0; i < results; ++i) check_same(actual[i], wanted[i]);
}

}  // namespace

TEST_CASE("random graphs compute the same bits after the graph passes") {
  for (unsigned seed = 1; seed <= 1000; ++seed) check_graph(seed);
}
