#include "ir/tile/eval.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "ir/tile/build.h"
#include "ir/tile/eval_value.h"

namespace tessera::tile {

namespace {

Element element_of(Attr value, DType dtype) {
  double number = value->is(AttrKind::Int) ? double(value->integer) : value->number;
  if (is_float(dtype)) return {.f = decode_float(dtype, encode_float(dtype, number))};
  if (value->is(AttrKind::Int)) return {.i = value->integer};
  Element from{.f = number};
  return evaluate_elementwise(ElementwiseKind::Cast, DType::F64, dtype, {&from, 1});
}

int64_t count_of(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

class KernelRun {
 public:
  KernelRun(Op* kernel, const DimValues& dims,
            DiagnosticEngine& diagnostics)
      : kernel_(kernel),
        dims_(dims),
        diagnostics_(diagnostics),
        values_(kernel->module()->value_count()) {}

  Status run(std::span<TensorValue* const> parameters) {
    Block* body = kernel_->region()->front();
    TSR_CHECK(parameters.size() == body->arg_count(),
              "a kernel was run with the wrong number of tensors");
    if (!bind(body, parameters)) return failure;
    std::vector<int64_t> grid;
    for (Attr extent : kernel_->attr("grid")->elements) grid.push_back(size(extent->dim));
    for_each_index(grid, [&](const std::vector<int64_t>& program, size_t) {
      if (failed_) return;
      program_ = program;
      scratch_.clear();
      arena_.clear();
      run_block(body);
    });
    return failed_ ? Status(failure) : success;
  }

 private:
  EvalValue& at(Value* value) { return values_[value->id()]; }
  int64_t index(Value* value) { return at(value).index(); }

  void fail(const std::string& message) {
    if (!failed_)
      diagnostics_.report(diag::tile_run, op_->loc(), std::string(op_->name()), message);
    failed_ = true;
  }

  int64_t size(Dim dim) {
    std::optional<int64_t> value = evaluate(dim, dims_);
    if (!value) fail(fmt::format("<{}> has no value", dim->text));
    return value.value_or(0);
  }
  std::vector<int64_t> sizes(const std::vector<Dim>& dims) {
    std::vector<int64_t> out;
    for (Dim dim : dims) out.push_back(size(dim));
    return out;
  }

  bool bind(Block* body, std::span<TensorValue* const> parameters) {
    op_ = kernel_;
    size_t outputs = size_t(kernel_->int_attr("outputs"));
    buffers_.resize(parameters.size());
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      Type type = body->arg(i)->type();
      TensorValue& tensor = *parameters[i];
      if (tensor.dtype() != type->dtype || tensor.dims() != sizes(type->dims)) {
        fail(fmt::format("parameter {} is not a {}", i, type->text));
        return false;
      }
      buffers_[i].bytes = tensor.data();
      buffers_[i].size = tensor.byte_count();
      if (i + outputs >= parameters.size()) buffers_[i].written.assign(tensor.byte_count(), false);
      window(body->arg(i), &buffers_[i], 0, type);
    }
    return true;
  }

  /// Makes `value` a window on memory, of the strides of its type.
  void window(Value* value, EvalMemory* memory, size_t base, Type type) {
    EvalValue& w = at(value);
    w.memory = memory;
    w.base = base;
    w.dims = sizes(type->dims);
    w.offset = 0;
    if (type->is(TypeKind::View)) {
      w.strides = sizes(type->strides);
      w.offset = size(type->offset);
      return;
    }
    w.strides.assign(w.dims.size(), 1);
    for (size_t i = w.dims.size(); i-- > 1;) w.strides[i - 1] = w.strides[i] * w.dims[i];
  }

  void run_block(Block* block) {
    for (Op* op : *block) {
      if (failed_) return;
      op_ = op;
      run_op(op);
    }
  }

  void run_op(Op* op) {
    switch (kind_of(op)) {
      case OpKind::Kernel:
        TSR_UNREACHABLE("kernels do not nest");
      case OpKind::Return:
      case OpKind::Yield:
        return;
      case OpKind::ProgramId:
        return scalar(op, {.i = program_[size_t(op->int_attr("axis"))]});
      case OpKind::For:
        return run_for(op);
      case OpKind::If:
        return run_if(op);
      case OpKind::View: {
        EvalValue& memory = at(op->operand(0));
        return window(op->result(), memory.memory, memory.base, op->result()->type());
      }
      case OpKind::Alloc:
        return run_alloc(op);
      case OpKind::Load:
        return run_load(op);
      case OpKind::Store:
        return run_store(op);
      case OpKind::Gather:
        return run_gather(op);
      case OpKind::Full:
        return fill(op, element_of(op->attr("value"), op->result()->type()->dtype));
      case OpKind::Splat:
        return fill(op, at(op->operand(0)).elements[0]);
      case OpKind::Extract:
        return scalar(op, at(op->operand(0)).elements[0]);
      case OpKind::Constant:
        return scalar(op, element_of(op->attr("value"), op->result()->type()->dtype));
      case OpKind::Dim:
        return scalar(op, {.i = size(op->dim_attr("value"))});
      case OpKind::Iota:
        return run_iota(op);
      case OpKind::Broadcast:
        return run_broadcast(op);
      case OpKind::Reshape: {
        EvalValue& result = make(op);
        result.elements = at(op->operand(0)).elements;
        return;
      }
      case OpKind::Transpose:
        return run_transpose(op);
      case OpKind::Reduce:
        return run_reduce(op);
      case OpKind::Merge:
        return run_merge(op);
      case OpKind::Dot:
        return run_dot(op);
      case OpKind::PairRows:
        return run_pair_rows(op);
      case OpKind::DotPairs:
        return run_dot_pairs(op);
      case OpKind::ConvertLayout: {
        EvalValue& result = make(op);
        result.elements = at(op->operand(0)).elements;
        return;
      }
      case OpKind::Slice:
      case OpKind::WorkerId:
      case OpKind::WorkerCount:
      case OpKind::Role:
      case OpKind::AllocShared:
      case OpKind::Slot:
      case OpKind::CopyAsync:
      case OpKind::CopyCommit:
      case OpKind::CopyWait:
      case OpKind::StoreAsync:
      case OpKind::StoreWait:
      case OpKind::Channel:
      case OpKind::ChannelAcquire:
      case OpKind::ChannelWait:
      case OpKind::ChannelRelease:
      case OpKind::Barriers:
      case OpKind::BarrierExpect:
      case OpKind::BarrierArrive:
      case OpKind::BarrierWait:
      case OpKind::Barrier:
      case OpKind::FenceAsync:
      case OpKind::Mma:
      case OpKind::MmaWait:
        return fail("it belongs to programs of several threads, which are not run here");
#define ELEMENTWISE(Name, operands, cls, traits) case OpKind::Name:
#include "ir/core/elementwise.def"
#undef ELEMENTWISE
        return run_elementwise(op);
    }
    TSR_UNREACHABLE("unknown op");
  }

  /// The result of an op, with its extents set and its elements to be filled.
  EvalValue& make(Op* op) {
    EvalValue& result = at(op->result());
    result.dims = sizes(op->result()->type()->dims);
    result.elements.resize(size_t(count_of(result.dims)));
    return result;
  }
  void scalar(Op* op, Element value) {
    make(op).elements[0] = value;
  }
  void fill(Op* op, Element value) {
    EvalValue& result = make(op);
    result.elements.assign(result.elements.size(), value);
  }

  void run_elementwise(Op* op) {
    EvalValue& result = make(op);
    ElementwiseKind kind = op->info().elementwise;
    bool choose = elementwise_info(kind).cls == ElementwiseClass::Choose;
    DType dtype = op->operand(choose ? 1 : 0)->type()->dtype, to = op->result()->type()->dtype;
    std::vector<const Element*> from;
    for (unsigned i = 0; i < op->operand_count(); ++i)
      from.push_back(at(op->operand(i)).elements.data());
    Element operands[3];
    for (size_t e = 0; e < result.elements.size(); ++e) {
      for (size_t i = 0; i < from.size(); ++i) operands[i] = from[i][e];
      result.elements[e] = evaluate_elementwise(kind, dtype, to, {operands, from.size()});
    }
  }

  void run_for(Op* op) {
    Block* body = op->region(at::For::body)->front();
    int64_t lo = index(op->in(in::For::lo)), hi = index(op->in(in::For::hi));
    int64_t step = index(op->in(in::For::step));
    if (step < 1) return fail(fmt::format("its step is {}", step));
    std::vector<EvalValue> carried;
    for (Value* init : op->ins(in::For::inits)) carried.push_back(at(init));
    for (int64_t i = lo; i < hi && !failed_; i += step) {
      at(body->arg(0)).dims = {};
      at(body->arg(0)).elements = {Element{.i = i}};
      for (size_t c = 0; c < carried.size(); ++c)
        at(body->arg(unsigned(c) + 1)) = std::move(carried[c]);
      run_block(body);
      for (size_t c = 0; c < carried.size(); ++c)
        carried[c] = at(body->back()->operand(unsigned(c)));
    }
    for (size_t c = 0; c < carried.size(); ++c) at(op->result(unsigned(c))) = std::move(carried[c]);
  }

  void run_if(Op* op) {
    bool holds = index(op->in(in::If::condition));
    Block* body = op->region(holds ? at::If::then : at::If::otherwise)->front();
    run_block(body);
    for (unsigned i = 0; i < op->result_count() && !failed_; ++i) {
      at(op->result(i)) = at(body->back()->operand(i));
    }
  }

  /// Scratch memory is one stretch where offsets are known, else a stretch for each alloc.
  void run_alloc(Op* op) {
    Type type = op->result()->type();
    size_t bytes = size_t(count_of(sizes(type->dims))) * byte_size(type->dtype), base = 0;
    if (op->has_attr("offset")) {
      size_t total = size_t(size(kernel_->dim_attr("scratch")));
      base = size_t(size(op->dim_attr("offset")));
      if (base % 64 != 0 || base + bytes > total) {
        return fail(
            fmt::format("{} bytes at {} are not aligned or outside of {}", bytes, base, total));
      }
      if (scratch_.empty()) new_scratch(total);
    } else {
      new_scratch(bytes);
    }
    window(op->result(), &scratch_.back(), base, type);
  }
  void new_scratch(size_t bytes) {
    arena_.emplace_back(new std::byte[bytes + 1]);
    std::memset(arena_.back().get(), 0xcd, bytes);
    scratch_.push_back({arena_.back().get(), bytes, std::vector<bool>(bytes, false)});
  }

  /// The byte address of an element of a window; nullopt after a report when it is outside.
  std::optional<size_t> address(const EvalValue& window, const std::vector<int64_t>& position,
                                DType dtype) {
    int64_t element = window.offset;
    for (size_t i = 0; i < position.size(); ++i) {
      if (position[i] < 0 || position[i] >= window.dims[i]) {
        fail(fmt::format("index {} is outside of axis {} of extent {}", position[i], i,
                         window.dims[i]));
        return std::nullopt;
      }
      element += position[i] * window.strides[i];
    }
    size_t bytes = byte_size(dtype);
    if (element < 0 || window.base + (size_t(element) + 1) * bytes > window.memory->size) {
      fail(fmt::format("element {} is outside of its memory", element));
      return std::nullopt;
    }
    return window.base + size_t(element) * bytes;
  }

  Element read(const EvalValue& window, const std::vector<int64_t>& position, DType dtype) {
    std::optional<size_t> at_byte = address(window, position, dtype);
    if (!at_byte) return {.i = 0};
    const std::vector<bool>& written = window.memory->written;
    if (!written.empty() && !written[*at_byte]) fail("it reads an element that was never written");
    return load_element(dtype, window.memory->bytes + *at_byte);
  }

  bool below(const std::vector<int64_t>& position, const std::vector<Value*>& limits) {
    for (size_t i = 0; i < limits.size(); ++i) {
      if (position[i] >= index(limits[i])) return false;
    }
    return true;
  }

  /// The index in memory of an element of a tile that lies on the memory's last axes.
  std::vector<int64_t> shifted(const std::vector<Value*>& offsets,
                               const std::vector<int64_t>& position) {
    std::vector<int64_t> out;
    for (Value* offset : offsets) out.push_back(index(offset));
    size_t lead = out.size() - position.size();
    for (size_t i = 0; i < position.size(); ++i) out[lead + i] += position[i];
    return out;
  }

  void run_load(Op* op) {
    EvalValue& window = at(op->in(in::Load::memory));
    DType dtype = op->result()->type()->dtype;
    Attr fill = op->attr("fill");
    Element past = fill              ? element_of(fill, dtype)
                   : is_float(dtype) ? Element{.f = 0}
                                     : Element{.i = 0};
    std::vector<Value*> offsets = op->ins(in::Load::offsets), limits = op->ins(in::Load::limits);
    EvalValue& result = make(op);
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      bool there = below(position, limits);
      result.elements[flat] = there ? read(window, shifted(offsets, position), dtype) : past;
    });
  }

  void run_store(Op* op) {
    EvalValue& window = at(op->in(in::Store::memory));
    EvalValue& value = at(op->in(in::Store::value));
    DType dtype = op->in(in::Store::value)->type()->dtype;
    std::vector<Value*> offsets = op->ins(in::Store::offsets), limits = op->ins(in::Store::limits);
    for_each_index(value.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      if (!below(position, limits)) return;
      std::optional<size_t> at_byte = address(window, shifted(offsets, position), dtype);
      if (!at_byte) return;
      store_element(dtype, value.elements[flat], window.memory->bytes + *at_byte);
      std::vector<bool>& written = window.memory->written;
      for (size_t b = 0; !written.empty() && b < byte_size(dtype); ++b)
        written[*at_byte + b] = true;
    });
  }

  void run_gather(Op* op) {
    EvalValue& table = at(op->in(in::Gather::table));
    EvalValue& rows = at(op->in(in::Gather::rows));
    DType dtype = op->result()->type()->dtype;
    int64_t column = index(op->in(in::Gather::column));
    std::vector<Value*> limits = op->ins(in::Gather::limits);
    bool unsigned_row = op->in(in::Gather::rows)->type()->dtype == DType::U64;
    EvalValue& result = make(op);
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      Element& element = result.elements[flat];
      element = is_float(dtype) ? Element{.f = 0} : Element{.i = 0};
      if (!below(position, limits)) return;
      int64_t row = rows.elements[size_t(position[0])].i;
      bool in_table = row >= 0 && row < table.dims[0] && !(unsigned_row && row < 0);
      if (in_table) {
        element = read(table, {row, column + position[1]}, dtype);
      } else if (is_float(dtype)) {
        element.f = std::nan("");
      }
    });
  }

  void run_iota(Op* op) {
    Value* start = op->in(in::Iota::start);
    int64_t first = start ? index(start) : 0;
    size_t axis = size_t(op->int_attr("axis"));
    EvalValue& result = make(op);
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      Element from{.i = first + position[axis]};
      result.elements[flat] = evaluate_elementwise(ElementwiseKind::Cast, DType::I64,
                                                   op->result()->type()->dtype, {&from, 1});
    });
  }

  /// Element at `position` of a tile; positions on axes of extent 1 count as 0.
  static Element pick(const EvalValue& tile, const std::vector<int64_t>& position) {
    size_t flat = 0;
    for (size_t i = 0; i < position.size(); ++i) {
      flat = flat * size_t(tile.dims[i]) + (tile.dims[i] == 1 ? 0 : size_t(position[i]));
    }
    return tile.elements[flat];
  }

  void run_broadcast(Op* op) {
    EvalValue& result = make(op);
    EvalValue& a = at(op->operand(0));
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      result.elements[flat] = pick(a, position);
    });
  }

  void run_transpose(Op* op) {
    EvalValue& result = make(op);
    EvalValue& a = at(op->operand(0));
    std::vector<int64_t> perm = op->ints_attr("perm");
    std::vector<int64_t> source(perm.size());
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      for (size_t i = 0; i < perm.size(); ++i) source[size_t(perm[i])] = position[i];
      result.elements[flat] = pick(a, source);
    });
  }

  void run_merge(Op* op) {
    EvalValue& result = make(op);
    std::vector<Value*> limits = op->ins(in::Merge::limits);
    for_each_index(result.dims, [&](const std::vector<int64_t>& position, size_t flat) {
      Value* from = op->in(below(position, limits) ? in::Merge::a : in::Merge::b);
      result.elements[flat] = at(from).elements[flat];
    });
  }

  void run_reduce(Op* op) {
    EvalValue& a = at(op->in(in::Reduce::a));
    DType dtype = op->result()->type()->dtype;
    size_t axis = size_t(op->int_attr("axis"));
    Value* limit = op->in(in::Reduce::limit);
    int64_t extent = a.dims[axis];
    int64_t present = limit ? std::clamp<int64_t>(index(limit), 0, extent) : extent;
    std::string_view kind = op->string_attr("kind");
    Element none = element_of(reduction_identity(kernel_->module()->context(), kind, dtype), dtype);
    EvalValue& result = make(op);
    std::vector<int64_t> outer(a.dims.begin(), a.dims.begin() + long(axis));
    size_t inner = size_t(count_of({a.dims.begin() + long(axis) + 1, a.dims.end()}));
    size_t rows = size_t(count_of(outer));
    std::vector<Element> row(static_cast<size_t>(present));
    for (size_t r = 0; r < rows * inner; ++r) {
      const Element* first = a.elements.data() + (r / inner) * size_t(extent) * inner + r % inner;
      for (size_t i = 0; i < row.size(); ++i) row[i] = first[i * inner];
      result.elements[r] = row.empty() ? none : tree(row, reduction_op(kind), dtype, extent);
    }
  }

  static Element tree(std::vector<Element>& row, ElementwiseKind kind, DType dtype,
                      int64_t extent) {
    int64_t half = 1;
    while (half < extent) half *= 2;
    for (half /= 2; half >= 1; half /= 2) {
      for (int64_t i = 0; i < half && i + half < int64_t(row.size()); ++i) {
        Element pair[2] = {row[size_t(i)], row[size_t(i + half)]};
        row[size_t(i)] = evaluate_elementwise(kind, dtype, dtype, pair);
      }
    }
    return row[0];
  }

  /// c + a * b in c's dtype: one rounding for floats, wrapping for integers.
  static Element multiply_add(DType dtype, Element a, Element b, Element c) {
    Element operands[3] = {a, b, c};
    if (is_float(dtype)) return evaluate_elementwise(ElementwiseKind::Fma, dtype, dtype, operands);
    Element sum[2] = {evaluate_elementwise(ElementwiseKind::Mul, dtype, dtype, {operands, 2}), c};
    return evaluate_elementwise(ElementwiseKind::Add, dtype, dtype, sum);
  }

  std::vector<Element> widened(Value* value, DType dtype) {
    std::vector<Element> elements = at(value).elements;
    for (Element& e : elements) {
      e = evaluate_elementwise(ElementwiseKind::Cast, value->type()->dtype, dtype, {&e, 1});
    }
    return elements;
  }

  void run_dot(Op* op) {
    DType dtype = op->result()->type()->dtype;
    std::vector<Element> a = widened(op->in(in::Dot::a), dtype),
                         b = widened(op->in(in::Dot::b), dtype);
    EvalValue& result = make(op);
    result.elements = at(op->in(in::Dot::c)).elements;
    size_t rows = size_t(result.dims[0]), columns = size_t(result.dims[1]);
    size_t k = size_t(at(op->in(in::Dot::a)).dims[1]), present = k;
    if (Value* limit = op->in(in::Dot::limit)) {
      present = size_t(std::clamp<int64_t>(index(limit), 0, int64_t(k)));
    }
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < columns; ++j) {
        Element& c = result.elements[i * columns + j];
        for (size_t p = 0; p < present; ++p)
          c = multiply_add(dtype, a[i * k + p], b[p * columns + j], c);
      }
    }
  }

  void run_pair_rows(Op* op) {
    const EvalValue& a = at(op->operand(0));
    EvalValue& result = make(op);
    size_t rows = size_t(result.dims[0]), columns = size_t(a.dims[1]);
    for (size_t e = 0; e < 2 * rows * columns; ++e) {
      size_t i = e / (2 * columns), j = e / 2 % columns, p = e % 2;
      result.elements[e] = a.elements[(2 * i + p) * columns + j];
    }
  }

  /// A fused multiply-add of f32 that takes denormals as zeros and gives none.
  static Element flushed_fma(Element a, Element b, Element c) {
    Element operands[3] = {flushed(a), flushed(b), flushed(c)};
    return flushed(evaluate_elementwise(ElementwiseKind::Fma, DType::F32, DType::F32, operands));
  }
  static Element flushed(Element e) {
    if (std::fabs(e.f) < double(std::numeric_limits<float>::min())) e.f = std::copysign(0.0, e.f);
    return e;
  }

  void run_dot_pairs(Op* op) {
    const Element one{.f = 1};
    const EvalValue &a = at(op->in(in::DotPairs::a)), &b = at(op->in(in::DotPairs::b));
    EvalValue& result = make(op);
    result.elements = at(op->in(in::DotPairs::c)).elements;
    size_t columns = size_t(result.dims[1]), pairs = size_t(b.dims[0]);
    for (size_t e = 0; e < result.elements.size(); ++e) {
      Element sums[2] = {{.f = 0}, {.f = 0}};
      for (size_t k = 0; k < 2 * pairs; ++k) {
        Element x = a.elements[e / columns * 2 * pairs + k];
        Element y = b.elements[k / 2 * 2 * columns + e % columns * 2 + k % 2];
        sums[k % 2] = flushed_fma(x, y, sums[k % 2]);
      }
      Element both = flushed_fma(sums[0], one, sums[1]);
      result.elements[e] = flushed_fma(both, one, result.elements[e]);
    }
  }

  Op* kernel_;
  const DimValues& dims_;
  DiagnosticEngine& diagnostics_;
  std::vector<EvalValue> values_;
  std::vector<EvalMemory> buffers_;
  std::deque<EvalMemory> scratch_;
  std::vector<std::unique_ptr<std::byte[]>> arena_;
  std::vector<int64_t> program_;
  Op* op_ = nullptr;
  bool failed_ = false;
};

}  // namespace

Status run_kernel(Op* kernel, std::span<TensorValue* const> parameters,
                  const DimValues& dims,
                  DiagnosticEngine& diagnostics) {
  return KernelRun(kernel, dims, diagnostics).run(parameters);
}

}  // namespace tessera::tile
