#include "codegen/ptx/emitter.h"

#include <algorithm>
#include <bit>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/module.h"
#include "runtime/format/cuda_image.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

using target::OpKind;

void not_legal(const Op* op) {
  std::string types;
  for (unsigned i = 0; i < op->operand_count(); ++i) types += " " + op->operand(i)->type()->text;
  TSR_UNREACHABLE("no PTX for " + std::string(op->name()) + types + ": it was not legalised");
}

std::string parameter_name(std::string_view kernel, size_t index) {
  return format::cuda_symbol(kernel) + "_param_" + std::to_string(index);
}

namespace {

/// Blocks that can be reached, each after all that dominate it; a loop's blocks stay together.
std::vector<Block*> ordered_blocks(Region* region) {
  std::vector<Block*> postorder;
  std::set<Block*> seen{region->front()};
  std::vector<std::pair<Block*, size_t>> stack{{region->front(), 0}};
  while (!stack.empty()) {
    auto& [block, visited] = stack.back();
    std::span<Successor> successors = block->terminator()->successors();
    if (visited == successors.size()) {
      postorder.push_back(block);
      stack.pop_back();
      continue;
    }
    // Last first: in the reversed order the first successor then follows at once.
    Block* to = successors[successors.size() - 1 - visited++].block;
    if (seen.insert(to).second) stack.push_back({to, 0});
  }
  return {postorder.rbegin(), postorder.rend()};
}

/// How many loops each block is in: between the target of a backward branch and the branch.
std::unordered_map<Block*, unsigned> loop_depths(const std::vector<Block*>& order) {
  std::unordered_map<Block*, size_t> position;
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::unordered_map<Block*, unsigned> depths;
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Successor& s : order[i]->terminator()->successors()) {
      for (size_t inside = position[s.block]; inside <= i; ++inside) ++depths[order[inside]];
    }
  }
  return depths;
}

}  // namespace

Code Emitter::run() {
  Region* region = func_->region();
  std::vector<Block*> order = ordered_blocks(region);
  depths_ = loop_depths(order);
  code_.blocks.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    blocks_[order[i]] = uint32_t(i);
    code_.blocks[i].loop_depth = depths_[order[i]];
  }
  op_ = func_;
  make_parameters(region->front());
  for (Block* block : order) {
    for (unsigned i = 0; block != region->front() && i < block->arg_count(); ++i) {
      define(block->arg(i), new_lanes(block->arg(i)->type()));
    }
  }
  for (Block* block : order) {
    at_ = blocks_[block];
    for (Op* op : *block) {
      op_ = op;
      op->is_terminator() ? end_block(op) : emit(op);
    }
  }
  return std::move(code_);
}

void Emitter::make_parameters(Block* entry) {
  std::string_view kernel = symbol_name(func_);
  size_t buffers =
      func_->attr(target::attr::Func::params).size() + func_->has(target::attr::Func::checks);
  size_t dims = func_->attr(target::attr::Func::dims).size();
  for (unsigned i = 0; i < entry->arg_count(); ++i) {
    std::string name = parameter_name(kernel, i);
    Operand value;
    if (i < buffers) {
      Operand generic = make(WordClass::Double, "ld.param.u64 {}, [{}]", name);
      value = make(WordClass::Double, "cvta.to.global.u64 {}, {}", text(generic));
    } else if (i < buffers + dims) {
      value = make(WordClass::Single, "ld.param.u32 {}, [{}]", name);
    } else {
      Operand parameter = make(WordClass::Double, "mov.b64 {}, {}", name);
      value = make(WordClass::Double, "cvta.param.u64 {}, {}", text(parameter));
    }
    define(entry->arg(i), {entry->arg(i)->type(), {value}});
  }
}

void Emitter::emit(Op* op) {
  switch (target::kind_of(op)) {
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
      return emit_elementwise(op);
    case OpKind::Constant:
    case OpKind::Splat:
    case OpKind::Iota:
    case OpKind::Mask:
    case OpKind::Extract:
    case OpKind::Insert:
    case OpKind::Shuffle:
    case OpKind::Concat:
    case OpKind::Bitcast: return emit_lane_op(op);
    case OpKind::Offset: return emit_offset(op);
    case OpKind::Load: return emit_load(op, in(op, 0), nullptr, nullptr);
    case OpKind::LoadMasked: return emit_load(op, in(op, 0), &in(op, 1), &in(op, 2));
    case OpKind::Gather: return emit_gather(op);
    case OpKind::AtomicAdd: return emit_atomic_add(op);
    case OpKind::Store:
    case OpKind::StoreMasked: {
      bool masked = target::kind_of(op) == OpKind::StoreMasked;
      int64_t align = op->attr(common::Access::align).value_or(0);
      return emit_store(in(op, 0), in(op, 1), masked ? &in(op, 2) : nullptr, align);
    }
#define OP(Name, ...) case OpKind::Name:
#include "ir/target/nv_ops.def"
#undef OP
      return emit_nv(op);
    // Ends of blocks, which end_block writes, and ops of another machine.
    case OpKind::Func: case OpKind::Return: case OpKind::Branch: case OpKind::CondBranch:
#define OP(Name, ...) case OpKind::Name:
#include "ir/target/x86_ops.def"
#undef OP
      break;
  }
  not_legal(op);
}

Instruction& Emitter::add(std::vector<uint32_t> defs, std::string text, std::vector<uint32_t> also_used) {
  Instruction made;
  made.op = op_;
  made.text = std::move(text);
  made.uses = std::move(also_used);
  for (uint32_t named : words_in(made.text)) {
    if (std::find(defs.begin(), defs.end(), named) == defs.end()) made.uses.push_back(named);
  }
  made.defs = std::move(defs);
  code_.blocks[at_].instructions.push_back(std::move(made));
  return code_.blocks[at_].instructions.back();
}

Emitter::Tied Emitter::tie(std::span<const Operand> sources, WordClass cls, bool for_mma) {
  Tied tied;
  Instruction copy;
  copy.op = op_;
  copy.role = Role::Copy;
  copy.for_mma = for_mma;
  for (Operand source : sources) {
    uint32_t result = word(cls);
    tied.results.push_back(result);
    if (source.kind == Operand::Kind::Undefined) continue;
    uint32_t start = word(cls);
    code_.tied.push_back({start, result});
    tied.sources.push_back(start);
    copy.moves.push_back({start, source});
    copy.defs.push_back(start);
    if (source.is_word()) copy.uses.push_back(source.word);
  }
  if (!copy.moves.empty()) code_.blocks[at_].instructions.push_back(std::move(copy));
  return tied;
}

std::string Emitter::text(Operand operand, Form form, unsigned bits) const {
  if (operand.is_word()) return token(operand.word);
  uint64_t value = operand.bits;
  if (form == Form::F32) return fmt::format("0f{:08X}", uint32_t(value));
  if (form == Form::F64) return fmt::format("0d{:016X}", value);
  if (bits == 32) value &= 0xffffffff;
  int64_t number = bits == 32 ? int32_t(value) : int64_t(value);
  return number > -65536 && number < 65536 ? std::to_string(number) : fmt::format("0x{:x}", value);
}

Operand Emitter::in_register(Operand operand, WordClass cls) {
  if (operand.is_word()) return operand;
  switch (cls) {
    case WordClass::Predicate: return make(cls, "setp.ne.b32 {}, {}, 0", operand.bits & 1);
    case WordClass::Half: return make(cls, "mov.b16 {}, {}", operand.bits & 0xffff);
    case WordClass::Single: return make(cls, "mov.b32 {}, {}", text(operand));
    case WordClass::Double: return make(cls, "mov.b64 {}, {}", text(operand, Form::Bits, 64));
  }
  TSR_UNREACHABLE("unknown word class");
}

void Emitter::branch_instruction(std::string text) { add({}, std::move(text)).role = Role::Branch; }

/// The block that an edge goes to: one of its own where there are words to copy and others leave the same block.
uint32_t Emitter::edge(Op* terminator, unsigned successor) {
  uint32_t from = at_;
  Block* to = terminator->successors()[successor].block;
  uint32_t target = blocks_.at(to);
  std::vector<Value*> arguments = terminator->successor_args(successor);
  Instruction copy;
  copy.op = terminator;
  copy.role = Role::Copy;
  uint32_t place = from;
  if (terminator->successors().size() > 1 && !arguments.empty()) {
    place = uint32_t(code_.blocks.size());
    code_.blocks.emplace_back();
    code_.blocks[place].successors = {target};
    code_.blocks[place].is_edge = true;
    code_.blocks[place].loop_depth = std::min(depths_[terminator->block()], depths_[to]);
  }
  at_ = place;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Lanes source = values_.at(arguments[i]);
    if (source.type->is(TypeKind::Ptr)) source.words = {pointer_word(source)};
    const Lanes& destination = values_.at(to->arg(unsigned(i)));
    for (size_t w = 0; w < source.words.size(); ++w) {
      if (source.words[w].kind == Operand::Kind::Undefined) continue;
      copy.moves.push_back({destination.words[w].word, source.words[w]});
      copy.defs.push_back(destination.words[w].word);
      if (source.words[w].is_word()) copy.uses.push_back(source.words[w].word);
    }
  }
  if (!copy.moves.empty()) code_.blocks[place].instructions.push_back(std::move(copy));
  if (place != from) branch_instruction({});
  at_ = from;
  return place == from ? target : place;
}

void Emitter::end_block(Op* terminator) {
  switch (target::kind_of(terminator)) {
    case OpKind::Return: return line("ret");
    case OpKind::Branch: {
      uint32_t to = edge(terminator, 0);
      code_.blocks[at_].successors = {to};
      return branch_instruction({});
    }
    case OpKind::CondBranch: {
      std::string condition = predicate(in(terminator, 0).words[0]);
      uint32_t then = edge(terminator, 0), otherwise = edge(terminator, 1);
      code_.blocks[at_].successors = {then, otherwise};
      return branch_instruction(std::move(condition));
    }
    default: not_legal(terminator);
  }
}

}  // namespace tessera::codegen::ptx
