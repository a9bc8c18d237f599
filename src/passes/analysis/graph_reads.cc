#include "passes/analysis/graph_reads.h"

#include <algorithm>
#include <set>

#include "ir/graph/ops.h"
#include "ir/graph/regions.h"
#include "ir/numbers/mma.h"
#include "passes/analysis/image_windows.h"
#include "support/check.h"

namespace tessera {

namespace {

using graph::OpKind;

/// One element that an attribute of a tile op can state. The upper half of u64 is given as negative
/// numbers in constants and cannot be.
bool is_one_number(Op* constant) {
  Type type = constant->result()->type();
  const std::vector<Attr>& values = constant->attr(graph::attr::Constant::values);
  bool one =
      std::all_of(type->dims.begin(), type->dims.end(), [](Dim d) { return d->is_constant(1); });
  return one && !values.empty() && !(type->dtype == DType::U64 && values[0]->integer < 0);
}

/// A source whose elements are all the same.
bool is_uniform(Op* op) {
  return graph_role(op) == GraphRole::Source && graph::kind_of(op) != OpKind::Iota;
}

std::vector<Dim> proper_dims(const std::vector<Dim>& dims) {
  std::vector<Dim> proper;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(proper),
               [](Dim d) { return !d->is_constant(1); });
  return proper;
}

/// For each axis of a view's result the axis of its operand, -1 for none; nothing when an axis is
/// another window or a part of one.
std::optional<std::vector<int>> relabelling(DimTable& table, Op* view) {
  const std::vector<Dim>& from = view->operand(0)->type()->dims;
  const std::vector<Dim>& to = view->result()->type()->dims;
  std::vector<int> axes(to.size(), -1);
  switch (graph::kind_of(view)) {
    case OpKind::Broadcast:
      for (size_t i = 0, skip = to.size() - from.size(); i < from.size(); ++i) {
        if (from[i] == to[i + skip]) axes[i + skip] = int(i);
      }
      return axes;
    case OpKind::Transpose: {
      std::vector<int64_t> perm = view->attr(graph::attr::Transpose::perm);
      return std::vector<int>(perm.begin(), perm.end());
    }
    case OpKind::Slice: {
      std::vector<Dim> starts = view->attr(graph::attr::Slice::starts);
      std::vector<int64_t> steps = view->attr(graph::attr::Slice::steps);
      for (size_t i = 0; i < to.size(); ++i) {
        bool whole = from[i] == to[i] && starts[i] == table.constant(0) && steps[i] == 1;
        if (!whole) return std::nullopt;
        axes[i] = int(i);
      }
      return axes;
    }
    case OpKind::Windows:
      return std::nullopt;
    case OpKind::Reshape: {
      if (proper_dims(from) != proper_dims(to)) return std::nullopt;
      size_t axis = 0;
      for (size_t i = 0; i < to.size(); ++i) {
        if (to[i]->is_constant(1)) continue;
        while (from[axis]->is_constant(1)) ++axis;
        axes[i] = int(axis++);
      }
      return axes;
    }
    default:
      TSR_UNREACHABLE("not a view: " + std::string(view->name()));
  }
}

}  // namespace

GraphRole graph_role(Op* op) {
  GraphRole role = graph::facts(op).role;
  return role == GraphRole::Constant && is_one_number(op) ? GraphRole::Source : role;
}

namespace {

/// Whether a float dtype has all values of an integer dtype.
bool holds_integers(DType from, DType to) {
  if (!is_integer(from) || !is_float(to)) return false;
  unsigned bits = dtype_info(from).bits - (dtype_info(from).cls == DTypeClass::Signed ? 1 : 0);
  switch (to) {
    case DType::F64: return bits <= 53;
    case DType::F32: return bits <= 24;
    case DType::F16: return bits <= 11;
    case DType::BF16: return bits <= 8;
    default: return false;
  }
}

}  // namespace

bool is_widening_cast(Op* op) {
  if (op->info().elementwise != ElementwiseKind::Cast) return false;
  DType from = op->operand(0)->type()->dtype;
  DType to = op->result()->type()->dtype;
  if (op->result()->type()->policies.saturate) return false;  // infinities change
  return holds_integers(from, to) || (is_float(from) == is_float(to) && from != DType::Bool &&
                                      dtype_info(from).bits < dtype_info(to).bits);
}

bool is_made_where_read(Op* op) {
  GraphRole role = graph_role(op);
  return role == GraphRole::View || role == GraphRole::Source || is_widening_cast(op);
}

GraphReads::GraphReads(Block* block, const Machine* machine)
    : dims_(&block->parent_op()->module()->context().dims()),
      machine_(machine),
      block_(block) {
  find_image_windows();
  find_live();
  for (Op* op : live_) add(op);
  for (unsigned i = 0; i < terminator_->operand_count(); ++i) {
    add_operand(terminator_, i, returned(terminator_->operand(i)));
  }
  auto before = [&](Op* a, Op* b) { return positions_[a] < positions_[b]; };
  std::sort(ops_.begin(), ops_.end(), before);
  for (auto& [base, sites] : sites_) {
    std::stable_sort(sites.begin(), sites.end(),
                     [&](const ReadSite& a, const ReadSite& b) { return before(a.op, b.op); });
  }
}

/// Before what is live is known: nobody else may need the windows.
void GraphReads::find_image_windows() {
  if (!machine_ || !machine_->gpu.has_tma) return;
  for (Op* op : *block_) {
    if (!op->is(graph::info(OpKind::Gemm))) continue;
    std::optional<ImageWindows> found = image_windows_of(op);
    if (!found) continue;
    forms_.emplace(op, std::move(found->form));
    windows_.emplace(op, found->image);
  }
}

/// What the op takes there, or reads in its place.
Value* GraphReads::operand_of(Op* op, unsigned position) const {
  auto windows = position == 0 ? windows_.find(op) : windows_.end();
  return windows == windows_.end() ? op->operand(position) : windows->second;
}

void GraphReads::find_live() {
  terminator_ = block_->terminator();
  std::set<Op*> live = {terminator_};
  for (Op* op = terminator_; op; op = op->prev()) {
    if (!live.count(op) && op->is_pure()) continue;
    live.insert(op);
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      if (Op* def = operand_of(op, i)->def()) live.insert(def);
    }
    if (op->region_count() == 0) continue;
    for (Value* value : captured_[op] = graph::captured_values(op)) {
      if (value->def()) live.insert(value->def());
    }
  }
  for (Op* op : *block_) {
    positions_.emplace(op, positions_.size());
    if (live.count(op) && op != terminator_) live_.push_back(op);
  }
}

void GraphReads::add(Op* op) {
  GraphRole role = graph_role(op);
  bool windows_in_place = machine_ && !machine_->is_gpu();
  if (windows_in_place && role == GraphRole::View && take_windows(op)) return;
  if (role == GraphRole::View || is_widening_cast(op)) {
    resolve(op->result());  // in order of the program, so that no chain of views is deep
    return;
  }
  if (role == GraphRole::Source || role == GraphRole::Constant) return;
  ops_.push_back(op);
  if (graph::kind_of(op) == OpKind::Barrier) return add_operand(op, 0, returned(op->operand(0)));
  if (role == GraphRole::Host) return add_host(op);
  if (graph::kind_of(op) == OpKind::UpdateSlice) {
    add_operand(op, graph::in::UpdateSlice::buffer, returned(op->operand(0)));
    for (unsigned i = 1; i < op->operand_count(); ++i) add_operand(op, i, resolve(op->operand(i)));
    return;
  }
  if (role == GraphRole::Anchor && !forms_.count(op)) forms_.emplace(op, anchor_form(op));
  for (unsigned i = 0; i < op->operand_count(); ++i) {
    add_operand(op, i, role == GraphRole::Anchor ? anchor_operand(op, i) : resolve(op->operand(i)));
  }
}

/// Steps of the host program take whole buffers.
void GraphReads::add_host(Op* op) {
  unsigned position = 0;
  for (; position < op->operand_count(); ++position) {
    add_operand(op, position, returned(op->operand(position)));
  }
  for (Value* value : captured_[op]) add_operand(op, position++, returned(value));
}

void GraphReads::add_operand(Op* op, unsigned position, Read read) {
  // The coordinates of an iota are known only where axes are no more than renamed.
  Op* def = read.base->def();
  bool is_iota = def && graph_role(def) == GraphRole::Source && !is_uniform(def);
  if (is_iota && !read.relabels && !forced(read.base)) force(read.base);
  sites_[read.base].push_back({op, position});
  reads_[{op, position}] = std::move(read);
}

void GraphReads::force(Value* value) {
  Op* op = value->def();
  TSR_CHECK(op && !forced_.count(value), "a value is forced that is a buffer already");
  Read inner;
  bool is_view = graph_role(op) == GraphRole::View;
  if (is_view) inner = resolve(value);
  if (is_widening_cast(op)) inner = resolve(op->operand(0));
  forced_.emplace(value, inner);
  resolved_[value] = own(value);
  ops_.push_back(op);
  if (inner.base) add_operand(op, 0, inner);
}

unsigned GraphReads::operand_count(Op* op) const {
  if (op->result_count() == 1) {
    auto it = forced_.find(op->result());
    if (it != forced_.end()) return it->second.base ? 1 : 0;
  }
  if (graph::kind_of(op) == OpKind::Barrier) return 1;  // what stands behind others keeps their order
  auto captured = captured_.find(op);
  size_t more = captured == captured_.end() ? 0 : captured->second.size();
  return op->operand_count() + unsigned(more);
}

const std::vector<ReadSite>& GraphReads::sites(Value* base) const {
  static const std::vector<ReadSite> none;
  auto it = sites_.find(base);
  return it == sites_.end() ? none : it->second;
}

Read GraphReads::own(Value* value) {
  Read read;
  read.base = value;
  for (size_t i = 0; i < value->type()->rank(); ++i) read.base_axes.push_back(int(i));
  read.access = contiguous_access(*dims_, value->type()->dims);
  return read;
}

Read GraphReads::resolve(Value* value) {
  auto known = resolved_.find(value);
  if (known != resolved_.end()) return known->second;
  Op* op = value->def();
  if (op && op->block() != block_) op = nullptr;
  Read read;
  if (op && is_widening_cast(op)) {
    read = resolve(op->operand(0));
    read.casts.push_back(value->type()->dtype);
  } else if (op && graph_role(op) == GraphRole::View) {
    std::optional<Read> seen = through(op);
    if (!seen) {
      force(op->operand(0));
      seen = through(op);
      TSR_CHECK(seen, "a view of a buffer is strided");
    }
    read = std::move(*seen);
  } else {
    read = own(value);
  }
  return resolved_[value] = std::move(read);
}

std::optional<Read> GraphReads::through(Op* op) {
  Read inner = resolve(op->operand(0));
  std::optional<Access> access = access_through(*dims_, op, inner.access);
  if (!access) return std::nullopt;
  Read read{inner.base, inner.casts, inner.relabels, {}, std::move(*access)};
  std::optional<std::vector<int>> axes = relabelling(*dims_, op);
  if (!axes) read.relabels = false;
  for (size_t i = 0; axes && i < axes->size(); ++i) {
    int axis = (*axes)[i];
    read.base_axes.push_back(axis < 0 || !inner.relabels ? -1 : inner.base_axes[size_t(axis)]);
  }
  return read;
}

namespace {

/// True if what is read through views has an element more than once because windows overlap.
bool sees_overlapping_windows(Value* value) {
  for (Op* op = value->def(); op && graph_role(op) == GraphRole::View; op = op->operand(0)->def()) {
    if (graph::kind_of(op) != OpKind::Windows) continue;
    auto size = op->result()->type()->dims.back()->constant();
    if (!size || *size > 1 + (op->attr(graph::attr::Windows::step) - 1) /
                                 op->attr(graph::attr::Windows::dilation))
      return true;
  }
  return false;
}

}  // namespace

/// A reshape that strides cannot say is left to the matmul that alone reads it, if that can read windows in place.
bool GraphReads::take_windows(Op* reshape) {
  if (graph::kind_of(reshape) != OpKind::Reshape || !reshape->result()->has_one_use()) return false;
  Op* matmul = reshape->result()->first_use()->owner();
  bool is_first = graph::kind_of(matmul) == OpKind::Gemm && reshape->result()->first_use()->index() == 0;
  if (!is_first || !sees_overlapping_windows(reshape->result())) return false;
  Read inner = resolve(reshape->operand(0));
  if (access_through(*dims_, reshape, inner.access)) return false;
  std::optional<AnchorForm> form = window_matmul_form(matmul, reshape, inner.access);
  if (!form) return false;
  forms_.emplace(matmul, std::move(*form));
  windows_.emplace(matmul, reshape->operand(0));
  return true;
}

Read GraphReads::anchor_operand(Op* op, unsigned position) {
  Value* value = operand_of(op, position);
  const AnchorForm& form = forms_.at(op);
  Read read = resolve(value);
  Op* def = read.base->def();
  bool is_buffer = !def || graph_role(def) != GraphRole::Source || forced(read.base);
  bool as_it_is =
      read.casts.empty() &&
      is_contiguous(*dims_, read.access, count_elements(*dims_, read.base->type()->dims));
  // Rows outside of a table are NaN, which integers that are cast as they are read cannot be.
  bool has_rows_outside = op->is(graph::info(OpKind::Embedding)) && position == graph::in::Embedding::table;
  bool loses_nan = has_rows_outside && is_float(value->type()->dtype) && !is_float(read.base->type()->dtype);
  if (is_buffer && !loses_nan && (form.strided || as_it_is)) {
    std::optional<Access> access = anchor_access(*dims_, form, position, read.access);
    if (access && can_multiply(op, position, *access)) return read;
  }
  force(value);
  return own(value);
}

/// Whether the machine's matrix instruction reads the operand of a matmul as it lies; true of all other anchors.
bool GraphReads::can_multiply(Op* op, unsigned position, const Access& operand) const {
  bool is_matmul = graph::kind_of(op) == OpKind::Gemm;
  if (!is_matmul || !machine_ || !reads_along_k(*machine_, op->operand(0)->type()->dtype)) return true;
  size_t k = operand.dims.size() - (position == graph::in::Gemm::a ? 1 : 2);
  return operand.strides[k]->is_constant(1) || operand.dims[k]->is_constant(1);
}

Read GraphReads::returned(Value* value) {
  Read read = resolve(value);
  Op* def = read.base->def();
  bool is_buffer = !def || def->block() != block_ || graph_role(def) != GraphRole::Source || forced(read.base);
  bool whole = is_contiguous(*dims_, read.access, count_elements(*dims_, read.base->type()->dims));
  if (is_buffer && whole && read.casts.empty()) return read;
  force(value);
  return own(value);
}

}  // namespace tessera
