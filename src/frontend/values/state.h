#pragma once
// Objects with state: a KVCache, an OptimizerState. While a program is elaborated such an object is its
// tensors by name, and an update of it is new tensors in a new object. The one before is then *spent*:
// there is one memory, in which the entry's caller holds the tensors, and every program point has one
// object to it. What lies below the front end sees nothing but tensors, of which some inputs are donated.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/values/value.h"

namespace tessera::frontend {

enum class StateKind : uint8_t { KVCache, OptimizerState };
std::string_view to_string(StateKind kind);

/// The policies behind a type of state: `KVCache[…] @rolling_window`.
struct StatePolicies {
  bool rolling_window = false;  ///< the newest positions replace the oldest
  bool fp32_master = false;     ///< the parameter is kept in f32 beside the one that is computed with
  bool paged = false;           ///< may be kept in pages; on one device as good as not
  bool checkpointable = false;  ///< is part of what a checkpoint holds

  bool operator==(const StatePolicies&) const = default;
};

class StateValue : public Object {
 public:
  using Fields = std::vector<std::pair<std::string, IrValue>>;

  /// `form`: of the state of an optimiser for a tree, the tree, whose leaves are the paths to them ("blocks.0.w"). It
  /// has a field "m.blocks.0.w" for each. None for a tensor.
  StateValue(StateKind kind, std::string name, StatePolicies policies, Fields fields, Datum form = Datum::none())
      : kind_(kind), name_(std::move(name)), policies_(policies), fields_(std::move(fields)), form_(std::move(form)) {}

  StateKind kind() const { return kind_; }
  /// Of the entry's parameter, whatever the program calls it.
  const std::string& name() const { return name_; }
  const StatePolicies& policies() const { return policies_; }
  const Fields& fields() const { return fields_; }
  const Datum& form() const { return form_; }
  /// The object with other fields.
  Datum with(Fields fields) const {
    return Datum::object(std::make_shared<StateValue>(kind_, name_, policies_, std::move(fields), form_));
  }
  /// Null when there is no such field.
  const IrValue* field(std::string_view name) const;
  std::string describe() const override;

  /// Where the object was updated, after which it is not to be used.
  const std::optional<Loc>& spent() const { return spent_; }
  void spend(Loc loc) const { spent_ = loc; }
  /// For the other of two branches, of which one runs.
  void revive() const { spent_.reset(); }

 private:
  StateKind kind_;
  std::string name_;
  StatePolicies policies_;
  Fields fields_;
  Datum form_;
  mutable std::optional<Loc> spent_;
};

/// A method of a state object before it is called: `cache.append`.
class StateMethod : public Object {
 public:
  StateMethod(Datum state, std::string name) : state_(std::move(state)), name_(std::move(name)) {}
  const StateValue& state() const { return *state_.object_as<StateValue>(); }
  const Datum& datum() const { return state_; }
  const std::string& name() const { return name_; }
  std::string describe() const override { return "method '" + name_ + "'"; }

 private:
  Datum state_;
  std::string name_;
};

}  // namespace tessera::frontend
