#pragma once
// An entry of the bundle as training and generating see it: what each of its inputs is for, and calls of it.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "runtime/tsr/tensor_files.h"
#include "runtime/tsr/train/device_tensor.h"

namespace tessera::tool::train {

/// What gives an input its value.
enum class Role : uint8_t {
  State,    ///< updated by calls and passed on; or read only, where another entry updates it
  Step,     ///< the number of the step
  Steps,    ///< how many there are in all
  Seed,     ///< random numbers of the step
  Setting,  ///< --set NAME=NUMBER
  Data,     ///< a part of the data
};

/// The state of the model by name, which entries share.
using States = std::map<std::string, DeviceTensor>;

/// The values of --set.
class Settings {
 public:
  int read(const std::vector<std::string>& options);
  /// The value of a setting; null when there is none.
  const std::string* find(const std::string& name);
  bool has(const std::string& name) const { return values_.contains(name); }
  /// Says which of the options were asked for by no entry.
  int check_used() const;

 private:
  struct Value {
    std::string text;
    bool is_used = false;
  };
  std::map<std::string, Value> values_;
  std::vector<std::string> known_;  ///< names that were asked for
};

/// Functions return 0, or the exit code after saying what is wrong.
class Entry {
 public:
  /// Finds the entry. Inputs named as `states` are state, too, when the entry only reads them.
  int open(const Session& session, const std::string& name, const States& states);

  const std::string& name() const { return name_; }
  tsr_function_t function() const { return function_; }
  size_t input_count() const { return inputs_.size(); }
  const tsr_tensor_info_t& input(size_t i) const { return inputs_[i]; }
  Role role(size_t i) const { return roles_[i]; }
  std::vector<size_t> inputs_of(Role role) const;
  bool has(Role role) const { return !inputs_of(role).empty(); }
  const std::vector<tsr_tensor_info_t>& inputs() const { return inputs_; }
  const std::vector<tsr_tensor_info_t>& outputs() const { return outputs_; }
  /// Whether the output is the memory of a state or a parameter.
  bool is_update(size_t output) const { return outputs_[output].alias_of[0] != '\0'; }
  /// The output of a name, if it has memory of its own; -1 where there is none.
  int find_output(const std::string& name) const;

  /// Gives the settings of the entry their values; says which are missing, or are no settings.
  int bind_settings(Session& session, Settings& settings);
  void bind(size_t input, DeviceTensor& tensor) { arguments_[input] = tensor.tensor(); }
  void bind_states(States& states);
  /// The value of all inputs of that role.
  int write_numbers(const Session& session, Role role, uint64_t number);

  /// Makes room for the results, of shapes that follow from those of the inputs.
  int shape_results(const Session& session);
  /// Runs the entry and waits for it.
  int call(const Session& session);
  DeviceTensor& result(size_t i) { return results_[i]; }
  /// The value of a result of rank 0.
  int read_number(const Session& session, size_t output, double& value) const;
  /// "loss, accuracy": the outputs that update nothing.
  std::string result_names() const;

 private:
  std::string name_;
  tsr_function_t function_ = nullptr;
  std::vector<tsr_tensor_info_t> inputs_, outputs_;
  std::vector<Role> roles_;                    ///< beside inputs_
  std::vector<const tsr_tensor_t*> arguments_;  ///< beside inputs_
  std::deque<DeviceTensor> numbers_;           ///< beside inputs_
  std::deque<DeviceTensor> results_;           ///< beside outputs_
};

/// The bytes of a number in a dtype of integers, cut to its width.
std::string integer_bytes(format::Dtype dtype, uint64_t number);
/// The elements of that dtype in double precision; empty for one that holds no single numbers.
std::vector<double> numbers_in(format::Dtype dtype, std::string_view content);
/// The names in the order of the signature.
std::vector<std::string> names_in(const std::vector<tsr_tensor_info_t>& infos);

}  // namespace tessera::tool::train
