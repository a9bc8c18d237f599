#include "codegen/llvm/translate.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/llvm/debug_places.h"
#include "ir/core/common_attributes.h"
#include "ir/target/ops.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

using Kind = ElementwiseKind;
using target::OpKind;
using target::X86OpKind;
namespace attr = target::attr;
namespace in = target::in;


[[noreturn]] void not_legal(const Op* op) {
  std::string types;
  for (unsigned i = 0; i < op->operand_count(); ++i) types += " " + op->operand(i)->type()->text;
  TSR_UNREACHABLE("no machine operation for " + std::string(op->name()) + types + ": it was not legalised");
}

/// Blocks that can be reached, each after all blocks that dominate it (reverse postorder).
std::vector<Block*> ordered_blocks(Region* region) {
  std::vector<Block*> postorder;
  std::unordered_set<Block*> seen{region->front()};
  std::vector<std::pair<Block*, size_t>> stack{{region->front(), 0}};
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    std::span<Successor> successors = block->terminator()->successors();
    if (next == successors.size()) {
      postorder.push_back(block);
      stack.pop_back();
    } else if (Block* to = successors[next++].block; seen.insert(to).second) {
      stack.push_back({to, 0});
    }
  }
  return {postorder.rbegin(), postorder.rend()};
}

class FunctionTranslator {
 public:
  /// `places` may be null.
  FunctionTranslator(llvm::Module& module, llvm::Function* function, DebugPlaces* places)
      : module_(module), context_(module.getContext()), builder_(context_), function_(function), places_(places) {}

  void run(Region* region) {
    std::vector<Block*> order = ordered_blocks(region);
    for (Block* block : order) blocks_[block] = llvm::BasicBlock::Create(context_, "", function_);
    for (unsigned i = 0; i < region->front()->arg_count(); ++i) {
      values_[region->front()->arg(i)] = function_->getArg(i);
    }
    for (Block* block : order) {
      builder_.SetInsertPoint(blocks_[block]);
      if (block != region->front()) {
        for (unsigned i = 0; i < block->arg_count(); ++i) {
          values_[block->arg(i)] = builder_.CreatePHI(type(block->arg(i)->type()), 2);
        }
      }
      for (Op* op : *block) emit(op);
    }
    for (Block* block : order) fill_phis(block);
  }

 private:
  llvm::Type* element_type(DType dtype) {
    if (dtype == DType::F32) return llvm::Type::getFloatTy(context_);
    if (dtype == DType::F64) return llvm::Type::getDoubleTy(context_);
    if (dtype == DType::Bool) return llvm::Type::getInt1Ty(context_);
    return llvm::Type::getIntNTy(context_, byte_size(dtype) * 8);
  }

  llvm::Type* type(Type type) {
    if (type->is(TypeKind::Ptr)) return llvm::PointerType::get(context_, 0);
    llvm::Type* element = element_type(type->dtype);
    return type->is(TypeKind::Reg) ? llvm::FixedVectorType::get(element, unsigned(type->lanes)) : element;
  }

  /// `like` with elements of another type.
  llvm::Type* shaped(llvm::Type* element, Type like) {
    return like->is(TypeKind::Reg) ? llvm::FixedVectorType::get(element, unsigned(like->lanes)) : element;
  }

  llvm::Value* in(Op* op, unsigned slot) { return values_.at(op->in(slot)); }

  void fill_phis(Block* block) {
    Op* terminator = block->terminator();
    for (unsigned n = 0; n < terminator->successors().size(); ++n) {
      Block* to = terminator->successors()[n].block;
      std::vector<Value*> arguments = terminator->successor_args(n);
      for (unsigned i = 0; i < arguments.size(); ++i) {
        auto* phi = llvm::cast<llvm::PHINode>(values_.at(to->arg(i)));
        phi->addIncoming(values_.at(arguments[i]), blocks_[block]);
      }
    }
  }

  void emit(Op* op) {
    if (places_) builder_.SetCurrentDebugLocation(places_->of(op));
    llvm::Value* value = translate(op);
    if (op->result_count()) values_[op->result()] = value;
  }

  llvm::Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments) {
    return builder_.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
  }

  llvm::Value* elementwise(Op* op) {
    DType dtype = op->operand(0)->type()->dtype;
    Kind kind = op->info().elementwise;
    switch (elementwise_info(kind).cls) {
      case ElementwiseClass::Convert: return cast(op);
      case ElementwiseClass::Compare: return compare(op, dtype);
      case ElementwiseClass::Choose: return builder_.CreateSelect(in(op, 0), in(op, 1), in(op, 2));
      case ElementwiseClass::Arithmetic:
      case ElementwiseClass::Real:
      case ElementwiseClass::Logical: break;
    }
    if (is_native_float(dtype)) return float_op(op);
    if (is_float(dtype)) not_legal(op);
    return integer_op(op, dtype);
  }

  llvm::Value* float_op(Op* op) {
    llvm::Value* a = in(op, 0);
    switch (op->info().elementwise) {
      case Kind::Neg: return builder_.CreateFNeg(a);
      case Kind::Abs: return intrinsic(llvm::Intrinsic::fabs, {a});
      case Kind::Sqrt: return intrinsic(llvm::Intrinsic::sqrt, {a});
      case Kind::Floor: return intrinsic(llvm::Intrinsic::floor, {a});
      case Kind::Ceil: return intrinsic(llvm::Intrinsic::ceil, {a});
      case Kind::Round: return intrinsic(llvm::Intrinsic::roundeven, {a});
      case Kind::Trunc: return intrinsic(llvm::Intrinsic::trunc, {a});
      case Kind::Add: return builder_.CreateFAdd(a, in(op, 1));
      case Kind::Sub: return builder_.CreateFSub(a, in(op, 1));
      case Kind::Mul: return builder_.CreateFMul(a, in(op, 1));
      case Kind::Div: return builder_.CreateFDiv(a, in(op, 1));
      case Kind::Fma: return intrinsic(llvm::Intrinsic::fma, {a, in(op, 1), in(op, 2)});
      default: not_legal(op);
    }
  }

  llvm::Value* integer_op(Op* op, DType dtype) {
    bool sign = is_signed(dtype);
    llvm::Value* a = in(op, 0);
    switch (op->info().elementwise) {
      case Kind::Neg: return builder_.CreateNeg(a);
      case Kind::Abs:
        return sign ? builder_.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()}, {a, builder_.getFalse()}) : a;
      case Kind::Not: return builder_.CreateNot(a);
      case Kind::Add: return builder_.CreateAdd(a, in(op, 1));
      case Kind::Sub: return builder_.CreateSub(a, in(op, 1));
      case Kind::Mul: return builder_.CreateMul(a, in(op, 1));
      case Kind::Div: return sign ? builder_.CreateSDiv(a, in(op, 1)) : builder_.CreateUDiv(a, in(op, 1));
      case Kind::Min: return intrinsic(sign ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, {a, in(op, 1)});
      case Kind::Max: return intrinsic(sign ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, {a, in(op, 1)});
      case Kind::And: return builder_.CreateAnd(a, in(op, 1));
      case Kind::Or: return builder_.CreateOr(a, in(op, 1));
      case Kind::Xor: return builder_.CreateXor(a, in(op, 1));
      case Kind::Shl: return builder_.CreateShl(a, in(op, 1));
      case Kind::Shr: return sign ? builder_.CreateAShr(a, in(op, 1)) : builder_.CreateLShr(a, in(op, 1));
      default: not_legal(op);
    }
  }

  llvm::Value* compare(Op* op, DType dtype) {
    using P = llvm::CmpInst::Predicate;
    constexpr P floats[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
    constexpr P sign[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
    constexpr P plain[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
    size_t n = size_t(op->info().elementwise) - size_t(Kind::Eq);
    if (is_native_float(dtype)) return builder_.CreateFCmp(floats[n], in(op, 0), in(op, 1));
    if (is_float(dtype)) not_legal(op);
    return builder_.CreateICmp(is_signed(dtype) ? sign[n] : plain[n], in(op, 0), in(op, 1));
  }

  llvm::Value* cast(Op* op) {
    Type from = op->operand(0)->type();
    Type to = op->result()->type();
    llvm::Value* a = in(op, 0);
    llvm::Type* result = type(to);
    if (from->dtype == to->dtype) return a;
    if (from->dtype == DType::F16 && to->dtype == DType::F32) {
      return builder_.CreateFPExt(builder_.CreateBitCast(a, shaped(builder_.getHalfTy(), from)), result);
    }
    if (from->dtype == DType::F32 && to->dtype == DType::F16) {
      return builder_.CreateBitCast(builder_.CreateFPTrunc(a, shaped(builder_.getHalfTy(), to)), result);
    }
    bool from_float = is_native_float(from->dtype);
    bool to_float = is_native_float(to->dtype);
    if ((is_float(from->dtype) && !from_float) || (is_float(to->dtype) && !to_float)) not_legal(op);
    if (to->dtype == DType::Bool) not_legal(op);
    if (from_float && to_float) return builder_.CreateFPCast(a, result);
    if (from_float) {
      auto id = is_signed(to->dtype) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
      return builder_.CreateIntrinsic(id, {result, a->getType()}, {a});
    }
    bool sign = is_signed(from->dtype);
    if (to_float) return sign ? builder_.CreateSIToFP(a, result) : builder_.CreateUIToFP(a, result);
    return builder_.CreateIntCast(a, result, sign);
  }

  llvm::Value* translate(Op* op) {
    switch (target::kind_of(op)) {
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
        return elementwise(op);
      case OpKind::Return: return builder_.CreateRetVoid();
      case OpKind::Branch: return builder_.CreateBr(blocks_.at(op->successors()[0].block));
      case OpKind::CondBranch:
        return builder_.CreateCondBr(in(op, 0), blocks_.at(op->successors()[0].block),
                                     blocks_.at(op->successors()[1].block));
      case OpKind::Constant: return constant(op);
      case OpKind::Splat: return builder_.CreateVectorSplat(unsigned(op->result()->type()->lanes), in(op, 0));
      case OpKind::Iota: return iota(op->result()->type()->dtype, op->result()->type()->lanes);
      case OpKind::Mask: return mask(op);
      case OpKind::Extract:
        return builder_.CreateExtractElement(in(op, 0), uint64_t(op->attr(attr::Extract::lane)));
      case OpKind::Insert:
        return builder_.CreateInsertElement(in(op, 0), in(op, 1),
                                            uint64_t(op->attr(attr::Insert::lane)));
      case OpKind::Shuffle: return shuffle(op);
      case OpKind::Concat: return concat(op);
      case OpKind::Bitcast: return builder_.CreateBitCast(in(op, 0), type(op->result()->type()));
      case OpKind::Offset: return builder_.CreateGEP(builder_.getInt8Ty(), in(op, 0), in(op, 1));
      case OpKind::Load: return load(op);
      case OpKind::LoadMasked: {
        Type result = op->result()->type();
        return builder_.CreateMaskedLoad(type(result), in(op, in::LoadMasked::address), align_of(op, result),
                                         in(op, in::LoadMasked::mask), in(op, in::LoadMasked::fill));
      }
      case OpKind::Gather: return gather(op);
      case OpKind::AtomicAdd: return atomic_add(op);
      case OpKind::Store:
        return builder_.CreateAlignedStore(in(op, in::Store::value), in(op, in::Store::address),
                                           align_of(op, op->in(in::Store::value)->type()));
      case OpKind::StoreMasked:
        return builder_.CreateMaskedStore(in(op, in::StoreMasked::value), in(op, in::StoreMasked::address),
                                          align_of(op, op->in(in::StoreMasked::value)->type()),
                                          in(op, in::StoreMasked::mask));
#define OP(Name, ...) case OpKind::Name:
#include "ir/target/x86_ops.def"
#undef OP
        return x86_op(op);
      // The function itself, and ops of another machine.
      case OpKind::Func:
#define OP(Name, ...) case OpKind::Name:
#include "ir/target/nv_ops.def"
#undef OP
        break;
    }
    not_legal(op);
  }

  llvm::Value* constant(Op* op) {
    Type result = op->result()->type();
    Attr value = op->attr(attr::Constant::value);
    bool integer = value->is(AttrKind::Int);
    if (is_native_float(result->dtype)) {
      return llvm::ConstantFP::get(type(result), integer ? double(value->integer) : value->number);
    }
    uint64_t bits = is_float(result->dtype)
                        ? encode_float(result->dtype, integer ? double(value->integer) : value->number)
                        : uint64_t(value->integer);
    return llvm::ConstantInt::get(type(result), bits);
  }

  llvm::Value* iota(DType dtype, int64_t count) {
    std::vector<llvm::Constant*> lanes;
    for (int64_t i = 0; i < count; ++i) lanes.push_back(llvm::ConstantInt::get(element_type(dtype), uint64_t(i)));
    return llvm::ConstantVector::get(lanes);
  }

  llvm::Value* mask(Op* op) {
    int64_t lanes = op->result()->type()->lanes;
    llvm::Value* given = builder_.CreateSExt(in(op, 0), builder_.getInt64Ty());
    llvm::Value* count = intrinsic(llvm::Intrinsic::smin, {given, builder_.getInt64(uint64_t(lanes))});
    count = intrinsic(llvm::Intrinsic::smax, {count, builder_.getInt64(0)});
    count = builder_.CreateTrunc(count, builder_.getInt32Ty());
    return builder_.CreateICmpULT(iota(DType::I32, lanes), builder_.CreateVectorSplat(unsigned(lanes), count));
  }

  llvm::Value* shuffle(Op* op) {
    std::vector<int> lanes;
    for (int64_t lane : op->attr(attr::Shuffle::lanes)) lanes.push_back(int(lane));
    return builder_.CreateShuffleVector(in(op, 0), in(op, 1), lanes);
  }

  llvm::Value* concat(Op* op) {
    llvm::Value* result = llvm::PoisonValue::get(type(op->result()->type()));
    uint64_t next = 0;
    for (Value* part : op->ins(in::Concat::parts)) {
      bool reg = part->type()->is(TypeKind::Reg);
      for (uint64_t lane = 0; lane < uint64_t(reg ? part->type()->lanes : 1); ++lane) {
        llvm::Value* value = values_.at(part);
        if (reg) value = builder_.CreateExtractElement(value, lane);
        result = builder_.CreateInsertElement(result, value, next++);
      }
    }
    return result;
  }

  llvm::Align element_align(Type type) {
    return llvm::Align(type->is(TypeKind::Ptr) ? sizeof(void*) : byte_size(type->dtype));
  }
  llvm::Align align_of(Op* op, Type type) {
    std::optional<int64_t> align = op->attr(common::Access::align);
    return align ? llvm::Align(uint64_t(*align)) : element_align(type);
  }

  llvm::Value* tile(int64_t number) { return builder_.getInt8(uint8_t(number)); }

  /// Tile registers are named by immediates, so LLVM neither assigns nor spills them.
  llvm::Value* x86_op(Op* op) {
    switch (X86OpKind(op->info().kind)) {
      case X86OpKind::TileConfig:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {tile_config()});
      case X86OpKind::TileRelease: return builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
      case X86OpKind::TileZero:
        return builder_.CreateIntrinsic(llvm::Intrinsic::x86_tilezero, {},
                                        {tile(op->attr(attr::TileZero::tile))});
      case X86OpKind::TileLoad:
        return builder_.CreateIntrinsic(
            llvm::Intrinsic::x86_tileloadd64, {},
            {tile(op->attr(attr::TileLoad::tile)), in(op, in::TileLoad::address),
             in(op, in::TileLoad::stride)});
      case X86OpKind::TileStore:
        return builder_.CreateIntrinsic(
            llvm::Intrinsic::x86_tilestored64, {},
            {tile(op->attr(attr::TileStore::tile)), in(op, in::TileStore::address),
             in(op, in::TileStore::stride)});
      case X86OpKind::DotBf16: return dot_bf16(op);
      case X86OpKind::TileDotBf16:
        return builder_.CreateIntrinsic(
            llvm::Intrinsic::x86_tdpbf16ps, {},
            {tile(op->attr(attr::TileDotBf16::tile)), tile(op->attr(attr::TileDotBf16::a)),
             tile(op->attr(attr::TileDotBf16::b))});
      case X86OpKind::Prefetch:
        return builder_.CreateIntrinsic(
            llvm::Intrinsic::prefetch, {in(op, 0)->getType()},
            {in(op, 0), builder_.getInt32(0),
             builder_.getInt32(uint32_t(op->attr(attr::Prefetch::locality))),
             builder_.getInt32(1)});
    }
    not_legal(op);
  }

  /// The factor that is the same in all lanes is the second, which the machine can broadcast from memory.
  llvm::Value* dot_bf16(Op* op) {
    llvm::Type* pairs = llvm::FixedVectorType::get(builder_.getBFloatTy(), 32);
    llvm::Value* a = builder_.CreateBitCast(in(op, in::DotBf16::a), pairs);
    llvm::Value* b = builder_.CreateBitCast(in(op, in::DotBf16::b), pairs);
    return builder_.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {},
                                    {in(op, in::DotBf16::c), b, a});
  }

  /// What LDTILECFG reads: palette 1, then 64 bytes a row (from byte 16, two bytes a tile) and 16 rows (from byte 48).
  llvm::Constant* tile_config() {
    constexpr llvm::StringLiteral name = "tile_config";
    if (llvm::GlobalVariable* made = module_.getNamedGlobal(name)) return made;
    uint8_t bytes[64] = {1};
    for (int tile = 0; tile < 8; ++tile) {
      bytes[16 + 2 * tile] = 64;
      bytes[48 + tile] = 16;
    }
    llvm::Constant* data = llvm::ConstantDataArray::get(context_, bytes);
    auto* global = new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                            name);
    global->setAlignment(llvm::Align(64));
    return global;
  }

  llvm::Value* atomic_add(Op* op) {
    DType dtype = op->result()->type()->dtype;
    return builder_.CreateAtomicRMW(is_float(dtype) ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add,
                                    in(op, in::AtomicAdd::address), in(op, in::AtomicAdd::value),
                                    llvm::MaybeAlign(byte_size(dtype)), llvm::AtomicOrdering::Monotonic);
  }

  llvm::Value* load(Op* op) {
    Type result = op->result()->type();
    auto* load = builder_.CreateAlignedLoad(type(result), in(op, 0), align_of(op, result));
    if (op->attr(common::Access::invariant)) {
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    }
    return load;
  }

  llvm::Value* gather(Op* op) {
    Type result = op->result()->type();
    llvm::Value* addresses =
        builder_.CreateGEP(builder_.getInt8Ty(), in(op, in::Gather::base), in(op, in::Gather::offsets));
    return builder_.CreateMaskedGather(type(result), addresses, element_align(result), in(op, in::Gather::mask),
                                       in(op, in::Gather::fill));
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_;
  DebugPlaces* places_;
  std::unordered_map<Value*, llvm::Value*> values_;
  std::unordered_map<Block*, llvm::BasicBlock*> blocks_;
};

llvm::Function* declare(Op* func, llvm::Module& module, const Machine& machine) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  llvm::Type* index = llvm::Type::getInt64Ty(context);
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer, index, index, pointer},
                                       false);
  std::string_view name = symbol_name(func);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                          llvm::StringRef(name.data(), name.size()), module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  function->addFnAttr("target-cpu", machine.llvm_cpu);
  if (!machine.llvm_features.empty()) function->addFnAttr("target-features", machine.llvm_features);
  std::string width = std::to_string(machine.vector_bytes * 8);
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
  for (unsigned i : {0u, 1u, 4u}) function->addParamAttr(i, llvm::Attribute::NonNull);
  for (unsigned i : {0u, 1u}) function->addParamAttr(i, llvm::Attribute::ReadOnly);
  function->addParamAttr(4, llvm::Attribute::NoAlias);
  function->addParamAttr(4, llvm::Attribute::getWithAlignment(context, llvm::Align(64)));
  return function;
}

}  // namespace

std::unique_ptr<llvm::Module> translate(std::span<const target::DistinctKernel> kernels, const Machine& machine,
                                        llvm::LLVMContext& context, Places places) {
  auto out = std::make_unique<llvm::Module>("kernels", context);
  std::optional<DebugPlaces> kept;
  if (places == Places::Kept) kept.emplace(*out);
  for (const target::DistinctKernel& kernel : kernels) {
    llvm::Function* function = declare(kernel.function, *out, machine);
    if (kept) kept->begin(*function, kernel.function);
    FunctionTranslator(*out, function, kept ? &*kept : nullptr).run(kernel.function->region());
    for (Op* twin : kernel.twins) {
      llvm::GlobalAlias::create(llvm::GlobalValue::ExternalLinkage, std::string(symbol_name(twin)), function);
    }
  }
  if (kept) kept->finish();
  return out;
}

}  // namespace tessera::codegen
