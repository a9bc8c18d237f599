#include "passes/tile/nv/nv_lowering.h"

#include "ir/core/common_attributes.h"
#include "ir/layout/text.h"
#include "ir/target/ops.h"
#include "ir/tile/build.h"
#include "ir/tile/ops.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/kernels.h"
#include "passes/tile/nv/emit_where.h"
#include "support/check.h"

namespace tessera {

using Kind = ElementwiseKind;
using tile::OpKind;

NvLowering::NvLowering(Op* kernel, const PassContext& context)
    : kernel_(kernel),
      context_(context),
      machine_(*context.machine),
      diagnostics_(context.diagnostics),
      func_(declare()),
      b_(*kernel->module(), func_),
      divisibility_(kernel),
      facts_(read_facts(kernel->attr(common::Kernel::assume))) {}

Op* NvLowering::declare() {
  Module& module = *kernel_->module();
  Context& context = module.context();
  Block* parameters = kernel_->region()->front();
  std::vector<Attr> types, names;
  for (unsigned i = 0; i < parameters->arg_count(); ++i) types.push_back(context.type(parameters->arg(i)->type()));
  for (const std::string& name : free_dims(kernel_)) names.push_back(context.string(name));
  OpState state;
  state.info = target::info(target::OpKind::Func);
  state.loc = kernel_->loc();
  state.attributes = {
      target::attr::Func::assume(kernel_->node(common::Kernel::assume)),
      target::attr::Func::checks(kernel_->node(common::Kernel::checks)),
      target::attr::Func::dims(context.array(std::move(names))),
      target::attr::Func::epilogue(kernel_->node(common::Kernel::epilogue)),
      target::attr::Func::grid(kernel_->node(common::Kernel::grid)),
      target::attr::Func::kernel(kernel_->node(common::Kernel::kernel)),
      target::attr::Func::names(parameter_names(kernel_)),
      target::attr::Func::outputs(kernel_->node(common::Kernel::outputs)),
      target::attr::Func::own(kernel_->node(common::Kernel::own)),
      target::attr::Func::params(context.array(std::move(types))),
      target::attr::Func::persistent(kernel_->node(common::Kernel::persistent)),
      target::attr::Func::schedule(schedule_in_force(kernel_)),
      target::attr::Func::scratch(context, context.dims().constant(0)),
      target::attr::Func::shared(context, kernel_->attr(common::Kernel::shared).value_or(0)),
      common::Function::symbol(kernel_->node(common::Function::symbol)),
      target::attr::Func::threads(kernel_->node(common::Kernel::threads)),
      target::attr::Func::work(kernel_->node(common::Kernel::work))};
  Op* func = module.create(state);
  // Blocks are numbered along one axis, and so clusters have one.
  int64_t blocks = tile::programs_of_cluster(kernel_);
  if (blocks > 1) func->set(target::attr::Func::cluster, std::vector<int64_t>{blocks});
  func->move_before(kernel_);
  func->region()->add_block();
  return func;
}

// The entry block computes sizes and thread indices; the program follows in a block of its own.
Status NvLowering::run() {
  make_entry();
  Block* body = b_.new_block();
  b_.branch(body);
  Op* end = func_->region()->front()->back();
  sizes_.compute_before(end);
  threads_.place = end;
  b_.at().set_end(body);
  if (!kernel_->attr(common::Kernel::persistent)) {
    std::vector<Dim> grid = kernel_->attr(common::Kernel::grid);
    program_ids_ = decode_block(grid);
    for (Value*& id : program_ids_) id = uniform(id);
    for (int64_t axis : kernel_->attr(tile::attr::Kernel::last_first)) {
      Value*& id = program_ids_[size_t(axis)];
      id = b_.sub(b_.sub(dim(grid[size_t(axis)]), b_.index(1)), id);
    }
  }
  lower_block(kernel_->region()->front());
  b_.at().op(target::info(target::OpKind::Return), {}, {});
  if (!descriptors_.empty()) func_->set(target::attr::Func::descriptors, descriptors_);
  kernel_->erase();
  return failed_ ? failure : success;
}

/// The block's index along each axis of the grid. Blocks of a cluster follow each other, and so do clusters.
std::vector<Value*> NvLowering::decode_block(std::vector<Dim> grid) {
  std::vector<int64_t> cluster = kernel_->attr(tile::attr::Kernel::cluster).vector();
  if (cluster.empty()) return decode_program(b_, sizes_, grid, block_number());
  DimTable& dims = b_.context().dims();
  for (size_t i = 0; i < cluster.size(); ++i) grid[i] = dims.floordiv(grid[i], dims.constant(cluster[i]));
  int64_t blocks = tile::programs_of_cluster(kernel_);
  Value* number = b_.cast(b_.div(b_.cast(block_number(), DType::U32), natural(blocks)), DType::I64);
  std::vector<Value*> ids = decode_program(b_, sizes_, grid, number);
  std::vector<Value*> places = places_in_cluster();
  for (size_t i = 0; i < cluster.size(); ++i)
    ids[i] = b_.add(b_.mul(ids[i], b_.index(cluster[i])), b_.cast(places[i], DType::I64));
  return ids;
}

/// Where the block is in its cluster, u32, an axis of the grid each; the first counts slowest.
std::vector<Value*> NvLowering::places_in_cluster() {
  std::vector<int64_t> cluster = kernel_->attr(tile::attr::Kernel::cluster).vector();
  Value* rank = b_.at().value(target::info(target::OpKind::ClusterRank), {}, b_.context().scalar(DType::I32));
  Value* rest = b_.cast(rank, DType::U32);
  std::vector<Value*> places(cluster.size());
  for (size_t i = cluster.size(); i-- > 0;) {
    Value* quotient = b_.div(rest, natural(cluster[i]));
    places[i] = b_.sub(rest, b_.mul(quotient, natural(cluster[i])));
    rest = quotient;
  }
  return places;
}

Value* NvLowering::block_number() {
  Value* block = b_.at().value(target::info(target::OpKind::CtaId), {}, b_.context().scalar(DType::I32));
  return b_.cast(block, DType::I64);
}

Value* NvLowering::block_count() {
  Value* count = b_.at().value(target::info(target::OpKind::CtaCount), {}, b_.context().scalar(DType::I32));
  return b_.cast(count, DType::I64);
}

void NvLowering::make_entry() {
  Block* entry = func_->region()->front();
  Context& context = b_.context();
  Block* parameters = kernel_->region()->front();
  for (unsigned i = 0; i < parameters->arg_count(); ++i) {
    Value* parameter = parameters->arg(i);
    memories_[parameter] = {entry->add_arg(context.ptr(), parameter->name()), parameter->type()};
  }
  if (kernel_->has(common::Kernel::checks))
    log_ = entry->add_arg(context.ptr(), kernel_->module()->intern("log"));
  for (std::string_view name : func_->attr(target::attr::Func::dims)) {
    std::string_view symbol = kernel_->module()->intern(name);
    sizes_.bind(symbol, b_.cast(entry->add_arg(context.scalar(DType::U32), symbol), DType::I64));
  }
  Type index = context.scalar(DType::I32);
  Value* thread = b_.at().value(target::info(target::OpKind::ThreadId), {}, index);
  threads_.lane = b_.bit_and(thread, i32(31));
  walk(kernel_, [&](Op* op) { has_roles_ |= op->is(tile::info(OpKind::Role)); });
  threads_.warp = uniform(b_.shr(thread, 5));
  threads_.warps = kernel_->required(common::Kernel::threads) / 32;
  if (func_->required(common::Kernel::shared) > 0) {
    shared_base_ = b_.at().value(target::info(target::OpKind::SharedBase), {}, context.ptr(MemorySpace::Shared));
  }
}

void NvLowering::lower_block(Block* block) {
  for (Op* op : *block) {
    b_.at().set_loc(op->loc());
    current_ = op;
    if (log_ && op->has(common::Access::site)) check_access(op);
    lower(op);
    allowed_ = nullptr;
  }
}

void NvLowering::lower(Op* op) {
  switch (tile::kind_of(op)) {
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
      return lower_elementwise(op);
    case OpKind::Return:
    case OpKind::Yield: return;
    case OpKind::For: return lower_for(op);
    case OpKind::If: return lower_if(op);
    case OpKind::Role: return lower_role(op);
    case OpKind::ProgramId: return define(op->result(), program_ids_[size_t(op->attr(tile::attr::ProgramId::axis))]);
    case OpKind::WorkerId: return define(op->result(), block_number());
    case OpKind::WorkerCount: return define(op->result(), block_count());
    case OpKind::Dim: return define(op->result(), dim(op->attr(tile::attr::Dim::value)));
    case OpKind::Constant:
    case OpKind::Full:
      return define(op->result(), b_.full(lowered_type(op->result()->type()), op->attr(common::Constant::value)));
    case OpKind::Splat: return lower_splat(op);
    case OpKind::Extract: return define(op->result(), b_.extract(value(op->operand(0)), 0));
    case OpKind::View: return lower_view(op);
    case OpKind::AllocShared: return lower_alloc_shared(op);
    case OpKind::Slot: return lower_slot(op);
    case OpKind::Load: return lower_load(op);
    case OpKind::Store: return lower_store(op);
    case OpKind::Gather: return lower_gather(op);
    case OpKind::Take: return lower_take(op);
    case OpKind::Scatter: return lower_scatter(op);
    case OpKind::Iota: return lower_iota(op);
    case OpKind::Broadcast:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Slice: return lower_same_elements(op);
    case OpKind::Merge: return lower_merge(op);
    case OpKind::ConvertLayout: return lower_convert(op);
    case OpKind::Reduce: return lower_reduce(op);
    case OpKind::Scan: return lower_scan(op);
    case OpKind::CopyAsync: return lower_copy_async(op);
    case OpKind::CopyCommit: return machine_op(target::OpKind::CpAsyncCommit);
    case OpKind::CopyWait:
      return machine_op(target::OpKind::CpAsyncWait,
                        {target::attr::CpAsyncWait::pending(op->node(tile::attr::CopyWait::pending))});
    case OpKind::StoreAsync: return lower_store_async(op);
    case OpKind::StoreWait: return lower_store_wait(op);
    case OpKind::Barriers: return lower_barriers(op);
    case OpKind::BarrierExpect: return lower_barrier_expect(op);
    case OpKind::BarrierArrive: return lower_barrier_arrive(op);
    case OpKind::BarrierWait: return lower_barrier_wait(op);
    case OpKind::Barrier: return lower_barrier();
    case OpKind::ClusterBarrier:
      machine_op(target::OpKind::WarpSync);
      machine_op(target::OpKind::ClusterArrive);
      return machine_op(target::OpKind::ClusterWait);
    case OpKind::FenceAsync: return machine_op(target::OpKind::FenceAsync);
    case OpKind::Mma: return lower_mma(op);
    case OpKind::MmaWait: return lower_mma_wait(op);
    case OpKind::OrderWait: return order_barrier(target::OpKind::NumberedBarrier, warpgroup());
    case OpKind::OrderArrive: return order_barrier(target::OpKind::NumberedBarrierArrive, next_warpgroup());
    // None is left by the properties that tile_to_nv needs: MasksPropagated, TilesFit, OperandsPlaced,
    // BarriersInserted, OpsDecomposed.
    case OpKind::Kernel: case OpKind::Within: case OpKind::Alloc: case OpKind::Dot: case OpKind::PairRows:
    case OpKind::DotPairs: case OpKind::Channel: case OpKind::ChannelAcquire: case OpKind::ChannelWait:
    case OpKind::ChannelRelease:
#define COMPOSED_OP(Name, ...) case OpKind::Name:
#include "ir/tile/composed_ops.inc"
      break;
  }
  TSR_UNREACHABLE("no lowering for " + std::string(op->name()));
}

void NvLowering::machine_op(target::OpKind kind, std::vector<OpAttr> attributes) {
  b_.at().op(target::info(kind), {}, {}, std::move(attributes));
}

void NvLowering::lower_splat(Op* op) {
  int64_t registers = layout_of(op->result()->type()).registers_per_thread();
  define(op->result(), b_.splat(value(op->operand(0)), registers));
}

Type NvLowering::lowered_type(Type type) {
  if (!type->is(TypeKind::Tile)) return type;
  return b_.context().reg(type->dtype, layout_of(type).registers_per_thread());
}

/// The same value, of a warp of which all threads have it, in a form that says so: of a shuffle ptxas knows it, and
/// keeps what follows from it (addresses of slots, descriptors, branches) in uniform registers. It knows it of no
/// division and of no thread index.
Value* NvLowering::uniform(Value* value) {
  if (!has_roles_ || threads_.single) return value;
  return b_.at().value(target::info(target::OpKind::ShuffleIndex), {{value}, {i32(0)}}, value->type());
}

void NvLowering::lower_elementwise(Op* op) {
  std::vector<Value*> operands;
  for (unsigned i = 0; i < op->operand_count(); ++i) operands.push_back(value(op->operand(i)));
  if (operands.size() == 2) {
    Kind kind = op->info().elementwise;
    Value* result = b_.op(kind, operands[0], operands[1]);
    bool divides = (kind == Kind::FloorDiv || kind == Kind::Mod) && result->type()->is(TypeKind::Scalar) &&
                   is_integer(result->type()->dtype) && !TargetBuilder::as_constant(operands[1]);
    return define(op->result(), divides ? uniform(result) : result);
  }
  if (op->info().elementwise == Kind::Cast && TargetBuilder::as_constant(operands[0])) {
    return define(op->result(), b_.cast(operands[0], op->result()->type()->dtype));
  }
  if (op->info().elementwise == Kind::Bits) {
    return define(op->result(), b_.bitcast(operands[0], op->result()->type()->dtype));
  }
  std::vector<std::vector<Value*>> slots;
  for (Value* operand : operands) slots.push_back({operand});
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  define(op->result(), b_.at().value(target::info(op->info().elementwise), std::move(slots),
                                     lowered_type(op->result()->type()), std::move(attributes)));
}

const layout::Layout& NvLowering::layout_of(Type tile) {
  auto [it, inserted] = layouts_.try_emplace(tile->layout);
  if (inserted) {
    std::optional<layout::Layout> parsed = layout::parse_layout(tile->layout);
    TSR_CHECK(parsed, "a tile has no layout: " + tile->text);
    it->second = *parsed;
  }
  return it->second;
}

const layout::SharedLayout& NvLowering::shared_layout_of(Type view) {
  auto it = shared_layouts_.find(view->layout);
  if (it != shared_layouts_.end()) return it->second;
  std::optional<layout::SharedLayout> parsed = layout::parse_shared_layout(view->layout);
  TSR_CHECK(parsed, "shared memory has no layout: " + view->text);
  return shared_layouts_.emplace(view->layout, *parsed).first->second;
}

}  // namespace tessera
