#pragma once
// Reports what is wrong in a program: at the place that is at fault, as far as that can be known, with the calls that
// led there, with labels on what else is involved, and with a fix. It reads what is evaluated and changes none of it.
//
// A name that the file spells once beside one that it spells several times is the misspelling. A function that uses an
// undefined name lacks a parameter where a call passes one argument too many. A dtype that a call was given is at fault
// before one that a declaration has. Where neither side is more likely wrong, the error is at the use.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/evaluate/call_frame.h"
#include "frontend/evaluate/session.h"
#include "frontend/fixes/shape_fixes.h"
#include "frontend/values/builtins.h"
#include "frontend/values/dims.h"
#include "frontend/values/operator_place.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

/// In the symbols of sizes of which nothing is known, and in no name of a source.
inline constexpr char unknown_mark = '\'';

/// What is known of sizes where something is evaluated.
struct SizeFacts {
  std::vector<DimFact> known;  ///< relations that hold
  bool is_called = true;       ///< false of a function that nothing calls: calls may make more of them equal
  std::string function;        ///< that nothing calls
  bool are_all = true;         ///< false where a clause or a condition is for calls to decide: more may hold then
  std::vector<std::string> given;  ///< sizes that calls give as numbers, not as extents of tensors
  std::string module;              ///< that nothing makes
  std::vector<std::string> module_sizes;  ///< which its instances give
};

class Blame {
 public:
  using DeclaredAt = std::function<Loc(const Value*)>;
  /// `frames` are the calls in progress and `facts` what is known of sizes, both as they change; `declared_at` gives
  /// the place of an argument of what is built, unknown for any other value.
  Blame(Session& session, const std::vector<CallFrame>& frames, const SizeFacts& facts, DeclaredAt declared_at)
      : session_(session), frames_(frames), facts_(facts), declared_at_(std::move(declared_at)) {}

  Session& session() const { return session_; }
  const SourceManager& sources() const { return session_.sources(); }
  /// The innermost call in progress; null when there is none.
  const CallFrame* frame() const { return frames_.empty() ? nullptr : &frames_.back(); }
  const std::vector<CallFrame>& frames() const { return frames_; }
  /// Whether the outermost call is that of a kernel.
  bool is_in_kernel() const;

  /// Reports with a note for each call in progress, unless already reported at that place. What goes wrong inside a
  /// function of the standard library is reported where the user's source calls it.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report(DiagKind<N> kind, Loc loc, const Args&... args) const {
    return report_in(frames_.size(), kind, loc, args...);
  }
  /// Where the user's source has what is at a place: the call that led there from a place in the standard library.
  Loc place_of(Loc loc) const { return place_in(frames_.size(), loc).loc; }
  /// The function whose call the user's source has there; `callee`, which is called at `loc`, where it is this one.
  std::string_view function_at(Loc loc, std::string_view callee) const;

  // Values of a kind that does not fit.
  void report_wrong_kind(Loc loc, std::string_view what, const Datum& value, std::string_view wanted) const;
  /// Whether a value is the None of a function that ends without a value, which is then reported.
  bool report_valueless(const Datum& value, Loc loc, std::string_view what) const;
  /// Whether an operand is an argument that the user gave a function of the standard library, which is then reported.
  bool report_argument(const Datum& operand, const OperatorPlace& at) const;
  /// Reports a function that ends without a value, at the one that its last statement computes for nothing if there
  /// is one; `result` is where its type is written. What it returns may be the None of another, which is then reported.
  DiagnosticEngine::Builder report_missing_return(const CallFrame& done, Loc result = {}) const;
  DiagnosticEngine::Builder report_missing_return(const Function& function, Loc result = {}) const;
  /// The operator as the source has it: `and` is computed as `&` is.
  std::string written(ElementwiseKind kind, Loc loc) const;
  /// Says that two arguments change places, as a fix where each is written on one line.
  void help_exchange(DiagnosticEngine::Builder& builder, std::string message, Loc first, Loc second) const;
  /// The conversion that a method of other libraries is, `x.to(float16)`, as a call; false where it is none.
  bool help_member_conversion(DiagnosticEngine::Builder& builder, Loc object, const ast::Identifier& name,
                              std::string_view callee) const;

  // Sizes and shapes.
  /// Whether two sizes are different whatever they are, given the facts.
  bool certainly_differ(Dim a, Dim b) const;
  /// What a relation between sizes is that is needed and that nothing proves. Calls of a function that nothing calls
  /// may see to it: that is warned of where the signature could state it.
  enum class Unproven : uint8_t { Wrong, Unstated, OfCalls };
  Unproven unproven(const DimFact& needed) const;
  /// The function that nothing calls and that is run; the module that nothing makes where the relation is one of the
  /// sizes of its instances alone.
  const std::string& uncalled(const DimFact& needed) const;
  /// The axis of two shapes of one rank that keeps them apart: one that is certain to where there is one, else the
  /// first. An extent of 1 fits any where it may be repeated.
  std::optional<size_t> differing_axis(std::span<const Dim> a, std::span<const Dim> b, bool repeats) const;
  /// Reports a comparison of sizes whose result is not known.
  void report_undecided(ast::CompareOp op, Dim a, Dim b, Loc loc) const;
  /// Says which clause lets the checker take it that a relation holds, if one does.
  void help_clause(DiagnosticEngine::Builder& builder, const DimFact& asked,
                   std::string_view when = "if it always holds") const;
  /// An argument whose shape is asked; axes may be added up to `rank`.
  ShapedOperand asked(Loc loc, std::string what, const Value& value, size_t rank = 0) const;
  /// Of the operator that is applied: how its operands, which have these shapes, broadcast.
  ShapeQuestion ask_operands(const OperatorPlace& at, const std::vector<Dim>& left,
                             const std::vector<Dim>& right) const;
  /// Offers changes that make shapes fit; false when there is none.
  bool help_shapes(DiagnosticEngine::Builder& builder, const ShapeQuestion& question) const;

  // Dtypes.
  /// Remembers the dtype that a call of a builtin was given, and the axis that a reduction was.
  void note_choice(const Builtin& builtin, const BoundArguments& arguments, const Datum& result);
  /// Where the call that made a value was given its dtype, if nothing else has it from there;
  /// unknown where a declaration or the rules of ops give it, and for null.
  Loc chosen_dtype(const Value* value) const;
  /// What a value is the reduction of, where its call names one axis, and perhaps is converted since.
  std::optional<ShapedOperand::Reduced> reduced_from(const Value* value) const;
  /// Reports a value's dtype: where a call chose it, with a better one if there is such, else at `loc`, of which `use`
  /// says what is the case there.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report_dtype(DiagKind<N> kind, Loc loc, const Value* value, std::optional<DType> better,
                                         std::string_view use, const Args&... args) const {
    Loc chosen = chosen_dtype(value);
    auto builder = report(kind, chosen.known() ? chosen : loc, args...);
    chosen.known() ? label_choice(builder, chosen, loc, value, better, use) : label_dtype(builder, value, loc);
    return builder;
  }
  /// Reports two dtypes of operands of which neither widens to the other; `to` is the better one.
  /// Says how an operand becomes a condition.
  void help_condition(DiagnosticEngine::Builder& builder, Loc operand, DType dtype) const;
  DiagnosticEngine::Builder report_mixed_dtypes(const OperatorPlace& at, DType left, DType right, DType to,
                                                std::string_view function = "cast") const;
  /// Says to convert an operand, as a fix where it is written on one line.
  void help_conversion(DiagnosticEngine::Builder& builder, Loc operand, DType to,
                       std::string_view function = "cast") const;
  /// Marks where a value has its dtype from, unless that is on the line that is reported.
  void label_dtype(DiagnosticEngine::Builder& builder, const Value* value, Loc reported) const;
  /// The same of the operand of the operator that is applied which has that dtype.
  void label_operand(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType dtype) const;
  /// Marks the operands of the operator that is applied with the dtypes that they are accumulated in.
  void label_accumulation(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType left, DType right) const;

 private:
  /// Where something is reported, and how many calls that place is in.
  struct Place {
    Loc loc;
    size_t frames;
  };
  /// Where a value was given its dtype, and the call that it comes from.
  struct DTypeChoice {
    Loc dtype, call;
  };
  /// The axis that a reduction was given, and the call.
  struct AxisChoice {
    ShapedOperand::Reduced reduced;
    Loc call;
  };

  /// Reports what is found with the outermost `frames` of the calls in progress.
  template <int N, typename... Args>
  DiagnosticEngine::Builder report_in(size_t frames, DiagKind<N> kind, Loc loc, const Args&... args) const {
    Place place = place_in(frames, loc);
    auto builder = session_.report(kind, place.loc, args...);
    add_call_notes(builder, place, frames, loc);
    return builder;
  }
  Place place_in(size_t frames, Loc loc) const;
  void add_call_notes(DiagnosticEngine::Builder& builder, const Place& place, size_t frames, Loc loc) const;
  bool lacks_return(const Function* function) const;
  std::string of_entry() const;
  std::optional<ShapedOperand::Kept> kept_axis(const OperatorPlace& at, const ast::Expr* expr, size_t rank) const;
  std::optional<ShapedOperand::Kept> kept_axis(const Value& value, Loc loc) const;
  Edit keep_axis(Loc call) const;
  void note_axis(const Builtin& builtin, const BoundArguments& arguments, const Value* result);
  void label_operands(DiagnosticEngine::Builder& builder, const OperatorPlace& at, DType left, DType right,
                      const Value* chosen) const;
  void label_choice(DiagnosticEngine::Builder& builder, Loc chosen, Loc loc, const Value* value,
                    std::optional<DType> better, std::string_view use) const;

  Session& session_;
  const std::vector<CallFrame>& frames_;
  const SizeFacts& facts_;
  DeclaredAt declared_at_;
  std::unordered_map<const Value*, DTypeChoice> dtype_choices_;
  std::unordered_map<const Value*, AxisChoice> axis_choices_;
};

}  // namespace tessera::frontend
