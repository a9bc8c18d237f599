#pragma once
// The facts of one row of an op table. Builder, printer, parser, verifier, documentation and generators
// read them; nothing about a particular op is written anywhere else but in its row and its hooks.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ir/core/attribute_key.h"
#include "ir/numbers/elementwise.h"

namespace tessera {

class Context;
class Op;
class OpVerifier;

/// The four levels of the pipeline, and the host program that spans the lower three.
enum class Level : uint8_t { Graph, Schedule, Tile, Target, Host };
std::string_view to_string(Level level);

enum class SlotKind : uint8_t { Operand, Result, Attribute, Region, Successor };

/// What a value may be in an operand or result slot.
enum class ValueClass : uint8_t {
  Any,
  Tensor,
  Memory,  ///< Tensor or View: what windows and barriers are of
  ReadMemory,     ///< memory whose elements the op reads
  WrittenMemory,  ///< memory whose elements the op writes; with the effect Reads, it reads them too
  Tile,
  Index,   ///< scalar i64
  Scalar,
  Number,  ///< Tensor, Tile, Reg or Scalar
  Reg,
  RegOrScalar,
  Ptr,
};
std::string_view to_string(ValueClass cls);
bool belongs_to(Type type, ValueClass cls);

struct Slot {
  SlotKind kind;
  const char* name;
  Arity arity = Arity::One;
  ValueClass value = ValueClass::Any;  ///< operands and results
  AttrType attr = AttrType::Int;       ///< attributes
};

/// Facts that hold of every instance of an op.
enum Trait : uint32_t {
  Pure = 1 << 0,         ///< no effect of its own: may be moved, merged and dropped (Op::is_pure also sees Exchanges)
  Commutative = 1 << 1,  ///< of its two operands
  Terminator = 1 << 2,   ///< ends a block
  Function = 1 << 3,     ///< top-level symbol; its region's arguments are its parameters
  SameType = 1 << 4,     ///< all operands and results have one type (policies aside)
  Elementwise = 1 << 5,  ///< acts on each element alone
  /// If its tile has a layout, threads wait for each other to exchange elements, which is an effect. So a row states
  /// Pure | Exchanges: without a layout the op is pure, with one Op::is_pure is false.
  Exchanges = 1 << 6,
  Threaded = 1 << 7,     ///< only in a program of many threads
};

/// Which axis of an operand an axis of a result is, of tiles.
enum class Axes : uint8_t {
  None,        ///< of none: what tiles there are is made of memory, scalars or nothing, or is an operand alone
  Kept,        ///< the same axis of each operand
  Reshaped,    ///< those of more than one element are the same, in order
  Permuted,    ///< as `perm` says
  Reduced,     ///< all but `axis` are the same, in order
  Contracted,  ///< as in [m, k] x [k, n] + [m, n]
  Own,         ///< what asks has a rule for this op
};

/// What an op does besides computing its results.
enum Effect : uint32_t {
  Reads = 1 << 0,   ///< reads memory it is given
  Writes = 1 << 1,  ///< writes memory it is given
  Rng = 1 << 2,
  State = 1 << 3,
  Io = 1 << 4,
  Collective = 1 << 5,
};

struct OpInfo {
  std::string name;  ///< with prefix: gir.add
  Level level;
  uint16_t kind;  ///< the level's OpKind
  std::span<const Slot> slots;
  uint32_t traits = 0;
  uint32_t effects = 0;
  void (*verify)(Op*, OpVerifier&) = nullptr;
  void (*verify_inside)(Op*, OpVerifier&) = nullptr;  ///< runs once the ops inside hold their rules
  ElementwiseKind elementwise = ElementwiseKind::None;
  Axes axes = Axes::None;

  bool has(Trait trait) const { return traits & trait; }
  size_t count(SlotKind kind) const;
  /// The nth slot of a kind.
  const Slot& slot(SlotKind kind, size_t n) const;
  const Slot* find_attribute(std::string_view name) const;
};

/// The facts a row states besides its slots; named fields, all with defaults.
struct OpFacts {
  uint32_t traits = 0;
  uint32_t effects = 0;
  Axes axes = Axes::None;
  void (*verify)(Op*, OpVerifier&) = nullptr;
  void (*verify_inside)(Op*, OpVerifier&) = nullptr;  ///< runs once the ops inside hold their rules
  ElementwiseKind elementwise = ElementwiseKind::None;
};

/// CamelCase to snake_case: the mnemonic of an enumerator.
std::string snake_case(std::string_view camel);

}  // namespace tessera
