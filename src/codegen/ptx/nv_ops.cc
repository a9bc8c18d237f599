// The machine's own ops: threads, barriers, asynchronous copies, tensor cores.

#include <algorithm>

#include "codegen/ptx/emitter.h"
#include "ir/core/common_attributes.h"
#include "ir/numbers/mma.h"
#include "support/check.h"

namespace tessera::codegen::ptx {

using target::NvOpKind;
using target::OpKind;
namespace attr = target::attr;
namespace in_ = target::in;

std::string Emitter::list(std::span<const Operand> words, Form form) {
  std::string all = "{";
  for (size_t i = 0; i < words.size(); ++i) all += (i ? ", " : "") + text(words[i], form);
  return all + "}";
}

void Emitter::emit_special(Op* op, std::string_view name) {
  define(op, {make(WordClass::Single, "mov.u32 {}, {}", name)});
}

void Emitter::emit_nv(Op* op) {
  switch (target::NvOpKind(op->info().kind)) {
    case NvOpKind::ThreadId: emit_special(op, "%tid.x"); break;
    case NvOpKind::CtaId: emit_special(op, "%ctaid.x"); break;
    case NvOpKind::CtaCount: emit_special(op, "%nctaid.x"); break;
    case NvOpKind::ClusterRank: emit_special(op, "%cluster_ctarank"); break;
    case NvOpKind::SharedBase: emit_special(op, "tessera_shared"); break;
    case NvOpKind::Undefined: define(op, std::vector<Operand>(word_count(op->result()->type()))); break;
    case NvOpKind::ShuffleXor:
    case NvOpKind::ShuffleIndex: emit_shuffle_lanes(op); break;
    case NvOpKind::Elect: define(op, {make(WordClass::Predicate, "elect.sync _|{}, 0xffffffff")}); break;
    case NvOpKind::Barrier:
      line("bar.sync {}, {}", op->attr(attr::Barrier::id), op->attr(attr::Barrier::threads));
      break;
    case NvOpKind::BarrierArrive:
      line("bar.arrive {}, {}", op->attr(attr::BarrierArrive::id),
           op->attr(attr::BarrierArrive::threads));
      break;
    case NvOpKind::NumberedBarrier:
      line("bar.sync {}, {}", text(in(op, 0).words[0]), op->attr(attr::NumberedBarrier::threads));
      break;
    case NvOpKind::NumberedBarrierArrive:
      line("bar.arrive {}, {}", text(in(op, 0).words[0]), op->attr(attr::NumberedBarrierArrive::threads));
      break;
    case NvOpKind::WarpSync: line("bar.warp.sync 0xffffffff"); break;
    case NvOpKind::ClusterArrive: line("barrier.cluster.arrive.aligned"); break;
    case NvOpKind::ClusterWait: line("barrier.cluster.wait.aligned"); break;
    case NvOpKind::MapShared:
      define(op, {make(WordClass::Single, "mapa.shared::cluster.u32 {}, {}, {}", text(pointer_word(in(op, 0))),
                       text(in(op, 1).words[0]))});
      break;
    case NvOpKind::MatrixDescriptor: emit_matrix_descriptor(op); break;
    case NvOpKind::MbarrierInit:
    case NvOpKind::MbarrierExpect:
    case NvOpKind::MbarrierArrive:
    case NvOpKind::MbarrierWait: emit_mbarrier(op); break;
    case NvOpKind::FenceMbarrierInit: line("fence.mbarrier_init.release.cluster"); break;
    case NvOpKind::FenceAsync: line("fence.proxy.async.shared::cta"); break;
    case NvOpKind::LaunchDependents: line("griddepcontrol.launch_dependents"); break;
    case NvOpKind::WaitPrerequisites: line("griddepcontrol.wait"); break;
    case NvOpKind::TmaLoad:
    case NvOpKind::TmaStore:
    case NvOpKind::PrefetchDescriptor: emit_tma(op); break;
    case NvOpKind::BulkCommit: line("cp.async.bulk.commit_group"); break;
    case NvOpKind::BulkWait:
      line("cp.async.bulk.wait_group{} {}", op->attr(attr::BulkWait::read) ? ".read" : "",
           op->attr(attr::BulkWait::pending));
      break;
    case NvOpKind::CpAsync: emit_cp_async(op); break;
    case NvOpKind::CpAsyncCommit: line("cp.async.commit_group"); break;
    case NvOpKind::CpAsyncWait:
      line("cp.async.wait_group {}", op->attr(attr::CpAsyncWait::pending));
      break;
    case NvOpKind::Wgmma: emit_wgmma(op); break;
    case NvOpKind::WgmmaFence: add({}, "wgmma.fence.sync.aligned").role = Role::Fence; break;
    case NvOpKind::WgmmaCommit: line("wgmma.commit_group.sync.aligned"); break;
    case NvOpKind::WgmmaWait: emit_wgmma_wait(op); break;
    case NvOpKind::MmaSync: emit_mma_sync(op); break;
    case NvOpKind::Ldmatrix:
    case NvOpKind::Stmatrix: emit_matrices(op); break;
    case NvOpKind::ReduceAdd: emit_reduce_add(op); break;
    case NvOpKind::SetMaxRegisters:
      line("setmaxnreg.{}.sync.aligned.u32 {}",
           op->attr(attr::SetMaxRegisters::increase) ? "inc" : "dec",
           op->attr(attr::SetMaxRegisters::count));
      break;
    case NvOpKind::FmaClamped: emit_function(op, "fma.rn.sat.f32"); break;
    case NvOpKind::ApproxExp2: emit_function(op, "ex2.approx.ftz.f32"); break;
    case NvOpKind::ApproxLog2: emit_function(op, "lg2.approx.f32"); break;
    case NvOpKind::ApproxReciprocal: emit_function(op, "rcp.approx.f32"); break;
    case NvOpKind::ApproxRsqrt: emit_function(op, "rsqrt.approx.f32"); break;
    case NvOpKind::ApproxSqrt: emit_function(op, "sqrt.approx.f32"); break;
    case NvOpKind::ApproxTanh: emit_function(op, "tanh.approx.f32"); break;
  }
}

/// Places in shared memory are below 2^18, so that their 16-byte units fill the 14 bits they have. In a cluster the
/// bits above say which block's memory it is.
void Emitter::emit_matrix_descriptor(Op* op) {
  std::string address = text(pointer_word(in(op, 0)));
  bool has_cluster = func_->has(target::attr::Func::cluster);
  Operand units = has_cluster ? make(WordClass::Single, "bfe.u32 {}, {}, 4, 14", address)
                              : make(WordClass::Single, "shr.u32 {}, {}, 4", address);
  uint64_t bits = uint64_t(op->attr(attr::MatrixDescriptor::bits));
  uint32_t low = uint32_t(bits) + uint32_t(op->attr(attr::MatrixDescriptor::offset) / 16), high = uint32_t(bits >> 32);
  Operand begin = make(WordClass::Single, "add.u32 {}, {}, {}", text(units), low);
  define(op, {make(WordClass::Double, "mov.b64 {}, {{{}, {}}}", text(begin), high)});
}

/// One instruction for each lane of f32.
void Emitter::emit_function(Op* op, std::string_view instruction) {
  std::vector<Operand> words;
  for (size_t i = 0; i < in(op, 0).words.size(); ++i) {
    std::string operands = text(in_register(in(op, 0).words[i], WordClass::Single));
    for (unsigned n = 1; n < op->operand_count(); ++n) operands += ", " + text(in(op, n).words[i], Form::F32);
    words.push_back(make(WordClass::Single, "{1} {0}, {2}", instruction, operands));
  }
  define(op, std::move(words));
}

void Emitter::emit_shuffle_lanes(Op* op) {
  bool butterfly = target::kind_of(op) == OpKind::ShuffleXor;
  std::string from =
      butterfly ? std::to_string(op->attr(attr::ShuffleXor::mask)) : text(in(op, 1).words[0]);
  auto exchange = [&](Operand a) {
    return make(WordClass::Single, "shfl.sync.{1}.b32 {0}, {2}, {3}, 31, -1", butterfly ? "bfly" : "idx", text(a),
                from);
  };
  Type type = op->result()->type();
  WordClass cls = type->is(TypeKind::Ptr) ? WordClass::Double : class_of(type->dtype);
  std::vector<Operand> words;
  for (Operand a : in(op, 0).words) {
    if (cls == WordClass::Double) {
      uint32_t low = word(WordClass::Single), high = word(WordClass::Single);
      std::string whole = text(in_register(a, cls));
      add({low, high}, fmt::format("mov.b64 {{{}, {}}}, {}", token(low), token(high), whole));
      Operand first = exchange(Operand::of(low)), second = exchange(Operand::of(high));
      words.push_back(make(cls, "mov.b64 {}, {{{}, {}}}", text(first), text(second)));
    } else if (cls == WordClass::Predicate) {
      Operand number = exchange(select(a, Operand::constant(1), Operand::constant(0), WordClass::Single));
      words.push_back(make(cls, "setp.ne.b32 {}, {}, 0", text(number)));
    } else {
      words.push_back(exchange(a));
    }
  }
  define(op, std::move(words));
}

/// True if the address is that of another block, as far as its definition shows.
bool Emitter::is_remote(Value* address) const {
  for (Op* def = address->def(); def; def = def->operand(0)->def()) {
    if (def->is(target::info(OpKind::MapShared))) return true;
    if (!def->is(target::info(OpKind::Offset))) return false;
  }
  return false;
}

void Emitter::emit_mbarrier(Op* op) {
  std::string bar = address(in(op, 0));
  switch (target::kind_of(op)) {
    case OpKind::MbarrierInit:
      return line("mbarrier.init.shared::cta.b64 {}, {}", bar, op->attr(attr::MbarrierInit::count));
    case OpKind::MbarrierExpect:
      return line("mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, {}", bar,
                  op->attr(attr::MbarrierExpect::bytes));
    case OpKind::MbarrierArrive:
      return line(
          "mbarrier.arrive.shared::{}.b64 _, {}",
          op->attr(attr::MbarrierArrive::remote) || is_remote(op->operand(0)) ? "cluster" : "cta",
          bar);
    case OpKind::MbarrierWait: break;
    default: not_legal(op);
  }
  // try_wait sleeps for a while by itself; the loop asks again. Its predicate lives in a scope of its own.
  std::string_view test = machine_.gpu.has_tma ? "try_wait" : "test_wait";
  unsigned label = labels_++;
  line("{{\n\t.reg .pred done;\nWAIT_{0}:\n\tmbarrier.{1}.parity.shared::cta.b64 done, {2}, {3};\n"
       "\t@!done bra WAIT_{0};\n\t}}",
       label, test, bar, text(in(op, 1).words[0]));
}

void Emitter::emit_tma(Op* op) {
  std::string map = text(pointer_word(in(op, 0)));
  if (target::kind_of(op) == OpKind::PrefetchDescriptor) return line("prefetch.tensormap [{}]", map);
  bool load = target::kind_of(op) == OpKind::TmaLoad;
  unsigned slot = load ? unsigned(in_::TmaLoad::coordinates) : unsigned(in_::TmaStore::coordinates);
  std::vector<Operand> coordinates;
  for (Value* c : op->ins(slot)) coordinates.push_back(values_.at(c).words[0]);
  std::string place = fmt::format("[{}, {}]", map, list(coordinates));
  if (!load) {
    return line("cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group {}, {}", coordinates.size(), place,
                address(in(op, in_::TmaStore::source)));
  }
  Value* mask = op->in(in_::TmaLoad::multicast);
  std::string to = address(in(op, in_::TmaLoad::destination)), bar = address(in(op, in_::TmaLoad::bar));
  std::string taps;
  for (Value* tap : op->ins(in_::TmaLoad::taps)) {
    uint32_t half = word(WordClass::Half);
    Operand wide = in_register(values_.at(tap).words[0], WordClass::Single);
    add({half}, fmt::format("cvt.u16.u32 {}, {}", token(half), text(wide)));
    taps += (taps.empty() ? "" : ", ") + token(half);
  }
  std::string head = fmt::format("cp.async.bulk.tensor.{}d.shared::cluster.global.{}.mbarrier::complete_tx::bytes",
                                 coordinates.size(), taps.empty() ? "tile" : "im2col");
  if (!taps.empty()) bar += ", {" + taps + "}";
  if (!mask) return line("{} {}, {}, {}", head, to, place, bar);
  uint32_t low = word(WordClass::Half);
  Operand blocks = in_register(values_.at(mask).words[0], WordClass::Single);
  add({low}, fmt::format("cvt.u16.u32 {}, {}", token(low), text(blocks)));
  line("{}.multicast::cluster {}, {}, {}, {}", head, to, place, bar, token(low));
}

void Emitter::emit_cp_async(Op* op) {
  int64_t size = op->attr(attr::CpAsync::size);
  Value* bytes = op->in(in_::CpAsync::bytes);
  std::string count = bytes ? ", " + text(values_.at(bytes).words[0]) : "";
  // Whole lines pass by the first-level cache.
  line("cp.async.{}.shared.global {}, {}, {}{}", size == 16 ? "cg" : "ca", address(in(op, in_::CpAsync::destination)),
       address(in(op, in_::CpAsync::source)), size, count);
}

/// An accumulator that starts from a constant gets it before the fence: after the fence only MMAs
/// may write it.
void Emitter::set_before_fence() {
  std::vector<Instruction>& all = code_.blocks[at_].instructions;
  if (all.empty() || !all.back().for_mma) return;
  const std::vector<Move>& moves = all.back().moves;
  if (std::any_of(moves.begin(), moves.end(), [](const Move& m) { return m.from.is_word(); })) return;
  auto fence = std::find_if(all.rbegin(), all.rend(), [](const Instruction& i) { return i.role == Role::Fence; });
  if (fence == all.rend()) return;
  all.back().for_mma = false;
  std::rotate(fence.base() - 1, all.end() - 1, all.end());
}

/// How matrix instructions spell a dtype.
static std::string_view mma_type(DType dtype) {
  switch (dtype) {
    case DType::F8E4M3: return "e4m3";
    case DType::F8E5M2: return "e5m2";
    case DType::I8: return "s8";
    case DType::I32:
    case DType::U32: return "s32";  // which wraps as u32 does
    default: return to_string(dtype);
  }
}

void Emitter::emit_wgmma(Op* op) {
  const Lanes &a = in(op, in_::Wgmma::a), &c = in(op, in_::Wgmma::c);
  Operand accumulate = in(op, in_::Wgmma::accumulate).words[0];
  std::vector<Operand> start = c.words;
  bool starts_anew = accumulate.is_constant() && !(accumulate.bits & 1);
  if (starts_anew) start.assign(start.size(), Operand{});
  DType dtype = op->attr(attr::Wgmma::dtype);
  std::string_view name = mma_type(dtype);
  bool in_registers = a.type->is(TypeKind::Reg);
  std::string left = in_registers ? list(a.words) : text(in_register(a.words[0], WordClass::Double));
  std::string right = text(in_register(in(op, in_::Wgmma::b).words[0], WordClass::Double));
  std::string keeps = predicate(accumulate);
  std::string majors = is_float(dtype) ? ", 1, 1" : "";
  if (find_mma(MmaUnit::Wgmma, dtype)->majors == MmaMajors::Any) {
    if (!in_registers) majors += op->attr(attr::Wgmma::a_major) == "mn" ? ", 1" : ", 0";
    majors += op->attr(attr::Wgmma::b_major) == "mn" ? ", 1" : ", 0";
  }
  Tied tied = tie(start, WordClass::Single, true);
  set_before_fence();
  std::vector<Operand> results;
  for (uint32_t result : tied.results) results.push_back(Operand::of(result));
  add(tied.results,
      fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{} {}, {}, {}, {}{}",
                  op->attr(attr::Wgmma::n), op->attr(attr::Wgmma::k), mma_type(c.type->dtype), name, name,
                  list(results), left, right, keeps, majors),
      tied.sources)
      .role = Role::Mma;
  define(op, std::move(results));
}

void Emitter::emit_wgmma_wait(Op* op) {
  bool drains = op->attr(common::Wait::pending) == 0;
  std::vector<Operand> sources;
  for (Value* value : op->ins(in_::WgmmaWait::values)) {
    const Lanes& lanes = values_.at(value);
    sources.insert(sources.end(), lanes.words.begin(), lanes.words.end());
  }
  Tied tied = tie(sources, WordClass::Single);
  Instruction& wait =
      add(tied.results,
          fmt::format("wgmma.wait_group.sync.aligned {}", op->attr(common::Wait::pending)),
          tied.sources);
  wait.role = Role::Wait;
  wait.drains = drains;
  size_t next = 0;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Lanes lanes{op->result(i)->type(), {}};
    for (size_t w = 0; w < word_count(lanes.type); ++w) lanes.words.push_back(Operand::of(tied.results[next++]));
    define(op->result(i), std::move(lanes));
  }
}

void Emitter::emit_mma_sync(Op* op) {
  std::vector<Operand> a, b, d;
  for (Operand w : in(op, in_::MmaSync::a).words) a.push_back(in_register(w, WordClass::Single));
  for (Operand w : in(op, in_::MmaSync::b).words) b.push_back(in_register(w, WordClass::Single));
  // The instruction's result may lie elsewhere, but sums in a loop are best in their place.
  std::vector<Operand> c;
  for (Operand w : in(op, in_::MmaSync::c).words) c.push_back(in_register(w, WordClass::Single));
  std::vector<uint32_t> results;
  for (size_t i = 0; i < 4; ++i) {
    results.push_back(word(WordClass::Single));
    d.push_back(Operand::of(results.back()));
  }
  DType dtype = op->in(in_::MmaSync::a)->type()->dtype;
  std::string_view name = mma_type(dtype), sum = mma_type(op->in(in_::MmaSync::c)->type()->dtype);
  add(results, fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {}, {}, {}, {}",
                           find_mma(MmaUnit::MmaSync, dtype)->k, sum, name, name, sum, list(d), list(a), list(b),
                           list(c)));
  define(op, std::move(d));
}

void Emitter::emit_matrices(Op* op) {
  int64_t count = op->attr(common::Matrices::count);
  std::string_view transpose = op->attr(common::Matrices::transpose) ? ".trans" : "";
  if (target::kind_of(op) == OpKind::Stmatrix) {
    std::vector<Operand> words;
    for (Operand w : in(op, in_::Stmatrix::value).words) words.push_back(in_register(w, WordClass::Single));
    return line("stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, {}", count, transpose,
                address(in(op, in_::Stmatrix::address)), list(words));
  }
  std::vector<uint32_t> results;
  std::vector<Operand> words;
  for (int64_t i = 0; i < count; ++i) {
    results.push_back(word(WordClass::Single));
    words.push_back(Operand::of(results.back()));
  }
  add(results, fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, {}", count, transpose, list(words),
                           address(in(op, in_::Ldmatrix::address))));
  define(op, std::move(words));
}

void Emitter::emit_reduce_add(Op* op) {
  const Lanes &value = in(op, in_::ReduceAdd::value), &mask = in(op, in_::ReduceAdd::mask);
  if (mask.words[0].is_constant() && !(mask.words[0].bits & 1)) return;
  std::string guard = mask.words[0].is_constant() ? "" : "@" + text(mask.words[0]) + " ";
  DType dtype = value.type->dtype;
  std::vector<Operand> words;
  for (Operand w : value.words) words.push_back(in_register(w, class_of(dtype)));
  bool is_vector = words.size() > 1;
  line("{}red.global.add{}.{}{} {}, {}", guard, is_vector ? fmt::format(".v{}", words.size()) : "",
       is_float(dtype) ? "f" : "u", 8 * byte_size(dtype), address(in(op, in_::ReduceAdd::address)),
       is_vector ? list(words) : text(words[0]));
}

}  // namespace tessera::codegen::ptx
