#pragma once
// Writes the ops of one kernel as PTX instructions over words. Methods are spread over files by family.
//
// The lanes of a value lie in words: a predicate for each lane of bool, one word for each of 32 or 64 bits, and 16- and
// 8-bit lanes packed into 32-bit words, lane 0 lowest; bits past the last lane are not fixed. Ops that only move lanes
// therefore name the words of their operands again and cost nothing, or a byte permutation where lanes are packed.

#include <fmt/format.h>

#include <array>
#include <span>
#include <unordered_map>

#include "codegen/ptx/code.h"
#include "ir/numbers/machine.h"
#include "ir/target/ops.h"

namespace tessera::codegen::ptx {

/// The words of a value, and for an address a number of bytes to be added.
struct Lanes {
  Type type = nullptr;
  std::vector<Operand> words;
  int64_t displacement = 0;
};

inline bool is_wide(DType dtype) { return dtype_info(dtype).bits == 64; }
/// The instruction's type for integers of that dtype: of the word, of 32 or 64 bits, that a lane is extended to.
inline std::string integer_type(DType dtype) {
  return std::string(is_signed(dtype) ? "s" : "u") + (is_wide(dtype) ? "64" : "32");
}

class Emitter {
 public:
  Emitter(Op* func, const Machine& machine) : func_(func), machine_(machine) {}
  Code run();

 private:
  /// How a constant is spelt: by the type of the instruction that reads it.
  enum class Form : uint8_t { Bits, F32, F64 };

  // emitter.cc: blocks, branches, and how instructions are made.
  void make_parameters(Block* entry);
  void emit(Op* op);
  void end_block(Op* terminator);
  uint32_t edge(Op* terminator, unsigned successor);
  void branch_instruction(std::string text);
  uint32_t word(WordClass cls) { return code_.add_word(cls); }
  Instruction& add(std::vector<uint32_t> defs, std::string text, std::vector<uint32_t> also_used = {});
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    add({}, fmt::format(format, std::forward<Args>(args)...));
  }
  /// One instruction that writes a new word, given as the first argument.
  template <typename... Args>
  Operand make(WordClass cls, fmt::format_string<std::string&, Args...> format, Args&&... args) {
    uint32_t result = word(cls);
    std::string name = token(result);
    add({result}, fmt::format(format, name, std::forward<Args>(args)...));
    return Operand::of(result);
  }
  /// New words that start as copies of `sources` and are to share a register with new results.
  struct Tied {
    std::vector<uint32_t> results;
    std::vector<uint32_t> sources;  ///< words that the instruction reads
  };
  Tied tie(std::span<const Operand> sources, WordClass cls, bool for_mma = false);
  std::string text(Operand operand, Form form = Form::Bits, unsigned bits = 32) const;
  /// The same in a register.
  Operand in_register(Operand operand, WordClass cls);
  std::string predicate(Operand operand) { return text(in_register(operand, WordClass::Predicate)); }

  // lanes.cc
  static WordClass class_of(DType dtype);
  static unsigned lanes_per_word(DType dtype);
  static size_t lane_count(Type type) { return type->is(TypeKind::Reg) ? size_t(type->lanes) : 1; }
  static size_t word_count(Type type);
  Lanes new_lanes(Type type);
  const Lanes& in(Op* op, unsigned slot) { return values_.at(op->in(slot)); }
  void define(Value* value, Lanes lanes) { values_[value] = std::move(lanes); }
  void define(Op* op, std::vector<Operand> words) { define(op->result(), {op->result()->type(), std::move(words)}); }
  struct Byte {
    Operand source;
    unsigned index = 0;
  };
  Operand assemble(const std::array<Byte, 4>& bytes);
  Operand permute(Operand a, Operand b, const std::array<int, 4>& selectors);
  /// Which lane of which value each lane of the result is.
  struct LaneSource {
    const Lanes* lanes;
    size_t lane;
  };
  std::vector<Operand> gather_lanes(Type type, const std::vector<LaneSource>& sources);
  /// One lane in a word of its own; narrow integers are extended to 32 bits.
  Operand lane(const Lanes& lanes, size_t index);
  /// The words of lanes given one by one as `lane` does.
  std::vector<Operand> pack(Type type, std::span<const Operand> lanes);
  void emit_lane_op(Op* op);
  void emit_constant(Op* op);
  void emit_mask(Op* op);

  // arithmetic.cc
  void emit_elementwise(Op* op);
  bool emit_by_words(Op* op);
  Operand word_of_lanes(Op* op, DType dtype, size_t word);
  Operand float_lane(Op* op, DType dtype, std::span<const Operand> a);
  Operand divide_by_constant(const Operand& a, uint32_t divisor);
  Operand integer_lane(Op* op, DType dtype, std::span<const Operand> a);
  Operand bool_lane(Op* op, std::span<const Operand> a);
  Operand shift_lane(Op* op, DType dtype, std::span<const Operand> a);
  Operand compare_lane(Op* op, DType dtype, std::span<const Operand> a);
  Operand select(Operand condition, Operand a, Operand b, WordClass cls);
  void emit_select(Op* op);

  // convert.cc
  void emit_cast(Op* op);
  bool cast_packed(Op* op);
  Operand cast_lane(DType from, DType to, Operand a);
  Operand float_to_integer(DType from, DType to, Operand a);
  Operand resize(DType from, DType to, Operand a);

  // memory.cc
  struct Piece {
    size_t first_byte;
    unsigned bytes;
  };
  /// An address as the brackets hold it.
  std::string address(const Lanes& pointer, int64_t bytes = 0);
  Operand pointer_word(const Lanes& pointer);
  std::vector<Piece> pieces(Type type, int64_t align, const Lanes* mask);
  Operand piece_mask(const Lanes* mask, Type type, const Piece& piece);
  void emit_offset(Op* op);
  void emit_load(Op* op, const Lanes& pointer, const Lanes* mask, const Lanes* fill);
  void emit_store(const Lanes& value, const Lanes& pointer, const Lanes* mask, int64_t align);
  void emit_gather(Op* op);
  void emit_atomic_add(Op* op);
  /// The facts that all pieces of one load share.
  struct Access {
    Lanes pointer;
    const Lanes* fill;
    std::string load;  ///< the instruction up to the space
    WordClass cls;
    unsigned unit;  ///< bytes of a word
  };
  Operand load_small(const Access& access, const Piece& piece, Operand condition);
  std::vector<Operand> load_vector(const Access& access, const Piece& piece, Operand condition);
  Operand load_piece(std::string_view instruction, const std::string& from, Operand mask, Operand fill, WordClass cls);

  // nv_ops.cc
  void emit_nv(Op* op);
  void emit_special(Op* op, std::string_view name);
  void emit_shuffle_lanes(Op* op);
  void emit_mbarrier(Op* op);
  void emit_tma(Op* op);
  void emit_cp_async(Op* op);
  void set_before_fence();
  void emit_wgmma(Op* op);
  void emit_wgmma_wait(Op* op);
  void emit_mma_sync(Op* op);
  void emit_matrices(Op* op);
  void emit_reduce_add(Op* op);
  void emit_matrix_descriptor(Op* op);
  void emit_function(Op* op, std::string_view instruction);
  bool is_remote(Value* address) const;
  std::string list(std::span<const Operand> words, Form form = Form::Bits);

  Op* func_;
  const Machine& machine_;
  Code code_;
  std::unordered_map<Value*, Lanes> values_;
  std::unordered_map<Block*, uint32_t> blocks_;
  std::unordered_map<Block*, unsigned> depths_;
  uint32_t at_ = 0;       ///< the block being filled
  Op* op_ = nullptr;      ///< the op at hand
  unsigned labels_ = 0;   ///< of loops within an op
};

/// The name of a kernel's parameter.
std::string parameter_name(std::string_view kernel, size_t index);
[[noreturn]] void not_legal(const Op* op);

}  // namespace tessera::codegen::ptx
