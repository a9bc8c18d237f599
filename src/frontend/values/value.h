#pragma once
// What an expression means while a program is elaborated: a Datum. Elaboration runs the program's
// compile-time part (numbers, dims, tuples, functions, schedules) and builds IR for the rest, so a
// Datum is either a compile-time value or an IrValue, a handle on a value of the IR under
// construction.
//
// Poison stands for something a diagnostic has been reported about; whatever touches poison is
// poison and says nothing. In a function that nothing calls it stands for what a call would give, too,
// and may say what that is as far as it is of use.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "frontend/binding/linker.h"
#include "ir/core/type.h"
#include "support/source.h"
#include "support/spending.h"

namespace tessera {
class Value;
}

namespace tessera::frontend {

struct Builtin;
struct Function;
struct KernelAxis;
struct SourceModule;
class Datum;

struct NoneValue {
  const Function* lacks_result_of = nullptr;
};

/// A tensor, tile or scalar of the IR. Its bits are in the dtype of value->type() (the *compute*
/// dtype of what made it); `storage` is the dtype of the source language's type, which an
/// assignment or a return rounds to.
struct IrValue {
  Value* value = nullptr;
  DType storage = DType::F32;
  Policies policies;      ///< as written; nothing implied
  bool weak = false;      ///< made of numbers and dims alone: takes the dtype of the other operands
  Loc origin;             ///< where it was declared or computed
  std::string_view name;  ///< of the parameter or variable; empty for an unnamed result
};

/// How much there is to a value for whoever goes through all of it. Values are shared, so that a few steps can make one
/// that nobody gets to the end of.
struct Measure {
  uint64_t parts = 1;  ///< shared ones count each time; stops at `most`
  uint32_t depth = 0;  ///< of the innermost part
  static constexpr uint64_t most = uint64_t(1) << 62;

  void add(Measure part) {
    parts = std::min(most, parts + part.parts);
    depth = std::max(depth, part.depth + 1);
  }
};

/// A dict or schedule with string keys, in the order written (a schedule: sorted).
struct Dictionary {
  std::vector<std::pair<std::string, Datum>> entries;
  const Datum* get(std::string_view key) const;
};

/// What has members by name: `tessera`, `ops`, `tile`, an imported file, a folder of such files.
struct Namespace {
  std::string name;
  names::Linked linked;
};

/// Something only one evaluator knows (a tile context, a module instance). Subclasses live beside
/// it.
class Object {
 public:
  virtual ~Object() = default;
  /// Its name in messages: "a tile context".
  virtual std::string describe() const = 0;
  /// Of an object that other values are in.
  virtual Measure measure() const { return {}; }
};

/// A dtype as a value; one bound to a dtype parameter brings the policies of its argument.
struct DTypeValue {
  DType dtype = DType::F32;
  Policies policies;
};

/// A type as a value: what `Tensor[B, D, f32]` evaluates to where no annotation is expected.
struct TypeReference {
  Type type = nullptr;
};

enum class DatumKind : uint8_t {
  Poison,
  None,
  Bool,
  Int,
  Float,
  String,
  DType,
  Dim,
  Tuple,
  List,
  Dict,
  Schedule,
  Function,
  Builtin,
  Namespace,
  Type,
  Object,
  Ir,
};

/// "an integer", "a tuple": what messages call a value of that kind.
std::string_view describe(DatumKind kind);

/// A compile-time value or a handle on IR. Cheap to copy; immutable but for being assigned.
class Datum {
 public:
  // None of these is inline: to make, copy and destroy one of so many alternatives is much to compile in every source.
  Datum();
  Datum(const Datum& other);
  Datum(Datum&& other) noexcept;
  Datum& operator=(const Datum& other);
  Datum& operator=(Datum&& other) noexcept;
  ~Datum();
  static Datum poison() { return Datum(); }
  /// Poison for a list of an unknown number of such values, and for a value or None.
  static Datum unknown_list(Datum element);
  static Datum or_none(Datum value);
  static Datum none();
  /// The None of a function that ended without a value.
  static Datum no_result(const Function* of);
  static Datum boolean(bool value);
  static Datum integer(int64_t value);
  static Datum number(double value);
  static Datum string(std::string value);
  static Datum dtype(DType value, Policies policies = {});
  /// A dimension; a constant one becomes an Int, one that overflowed is poison.
  static Datum dim(Dim value);
  /// The same number, as the extent of a tile along an axis of a kernel.
  Datum along(const KernelAxis* axis) const;
  static Datum tuple(std::vector<Datum> elements);
  static Datum list(std::vector<Datum> elements);
  static Datum dict(Dictionary entries);
  static Datum schedule(Dictionary attributes);
  static Datum function(const Function* value);
  static Datum builtin(const Builtin* value);
  static Datum name_space(const Namespace* value);
  static Datum type(Type value);
  static Datum object(std::shared_ptr<const Object> value);
  static Datum ir(IrValue value);

  DatumKind kind() const;
  bool is(DatumKind k) const { return kind() == k; }
  bool is_poison() const { return is(DatumKind::Poison); }
  /// What is known of poison: each element of the list that it stands for, or its value where it is not None; null
  /// where nothing is.
  const Datum* known_element() const { return known(true); }
  const Datum* unless_none() const { return known(false); }
  bool is_none() const { return is(DatumKind::None); }
  bool is_sequence() const { return is(DatumKind::Tuple) || is(DatumKind::List); }
  bool is_number() const { return is(DatumKind::Int) || is(DatumKind::Float); }
  /// An Int, Float or Dim.
  bool is_scalar() const { return is_number() || is(DatumKind::Dim); }
  bool is_ir() const { return is(DatumKind::Ir); }

  // Readers; the kind must match.
  /// Of a None: the function that ended without a value; null where None is written.
  const Function* lacks_result_of() const { return std::get<NoneValue>(storage_).lacks_result_of; }
  bool as_bool() const { return std::get<bool>(storage_); }
  int64_t as_int() const { return std::get<int64_t>(storage_); }
  double as_float() const { return std::get<double>(storage_); }
  /// Of an Int or Float.
  double as_double() const { return is(DatumKind::Int) ? double(as_int()) : as_float(); }
  const std::string& as_string() const { return std::get<Text>(storage_)->content; }
  DType as_dtype() const { return std::get<DTypeValue>(storage_).dtype; }
  const Policies& dtype_policies() const { return std::get<DTypeValue>(storage_).policies; }
  /// Of a Dim (never constant; an Int is a constant dimension).
  Dim as_dim() const { return std::get<Dim>(storage_); }
  /// Of a Tuple or List.
  const std::vector<Datum>& elements() const;
  /// Of a Dict or Schedule.
  const Dictionary& entries() const;
  const Function& as_function() const { return *std::get<const Function*>(storage_); }
  const Builtin& as_builtin() const { return *std::get<const Builtin*>(storage_); }
  const Namespace& as_namespace() const { return *std::get<const Namespace*>(storage_); }
  Type as_type() const { return std::get<TypeReference>(storage_).type; }
  const Object& as_object() const { return *std::get<ObjectPointer>(storage_); }
  /// The object as a T, or null.
  template <typename T>
  const T* object_as() const {
    return is(DatumKind::Object) ? dynamic_cast<const T*>(std::get<ObjectPointer>(storage_).get())
                                 : nullptr;
  }
  const IrValue& as_ir() const { return std::get<IrValue>(storage_); }
  /// The axis along which a number is the extent of a tile, as far as it was said; null for all others.
  const KernelAxis* axis() const { return axis_; }
  Measure measure() const;

 private:
  /// The data that copies of a value share. Making it is counted as work and, as long as it is
  /// there, as memory.
  template <typename T>
  struct Shared {
    explicit Shared(T made);
    T content;
    Measure measure;
    HeldBytes bytes;
  };
  using Elements = std::vector<Datum>;
  using Text = std::shared_ptr<const Shared<std::string>>;
  using ObjectPointer = std::shared_ptr<const Object>;
  struct Poison {
    std::shared_ptr<const Shared<Elements>> known;  ///< one value, or null
    bool is_list = false;
  };
  struct TupleValue {
    std::shared_ptr<const Shared<Elements>> sequence;
  };
  struct ListValue {
    std::shared_ptr<const Shared<Elements>> sequence;
  };
  struct DictValue {
    std::shared_ptr<const Shared<Dictionary>> dictionary;
  };
  struct ScheduleStorage {
    std::shared_ptr<const Shared<Dictionary>> attributes;
  };
  // In the order of DatumKind.
  using Storage =
      std::variant<Poison, NoneValue, bool, int64_t, double, Text, DTypeValue, Dim, TupleValue,
                   ListValue, DictValue, ScheduleStorage, const Function*, const Builtin*,
                   const Namespace*, TypeReference, ObjectPointer, IrValue>;
  template <typename T>
  explicit Datum(T value) : storage_(std::move(value)) {}
  const Datum* known(bool is_list) const;
  Storage storage_;
  const KernelAxis* axis_ = nullptr;
};

/// The value as source text would write it: `3`, `(1, B*S)`, `bf16`; for IR values and functions
/// what they are. A long one is cut, and ends in "…".
std::string to_text(const Datum& datum);
/// Its name in messages: "an integer", "a tensor<B x 4, f32>".
std::string describe(const Datum& datum);
/// The same where another kind is needed: "8.0", because "a number" could be the integer that is needed.
std::string describe_given(const Datum& datum);
/// The dtype that a value is or names: `int`, `float` and `bool` are conversions and dtypes.
std::optional<DType> named_dtype(const Datum& datum);
/// Equality of compile-time values; values of different kinds differ, except that 1 == 1.0. Not of
/// IR values.
bool equal(const Datum& a, const Datum& b);

}  // namespace tessera::frontend
