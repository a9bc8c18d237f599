#include "runtime/tsr/train/entry.h"

#include <algorithm>
#include <cstring>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

Role role_of(const tsr_tensor_info_t& info, bool is_state) {
  if (is_state) return Role::State;
  if (info.flags & TSR_TENSOR_SEED) return Role::Seed;
  if (info.ndim > 0) return Role::Data;
  bool counts = is_integer(*format::find_dtype(info.dtype));
  if (counts && info.name == std::string_view("step")) return Role::Step;
  if (counts && info.name == std::string_view("steps")) return Role::Steps;
  return Role::Setting;
}

}  // namespace

int Settings::read(const std::vector<std::string>& options) {
  for (const std::string& text : options) {
    Assignment given;
    if (int code = split_assignment(text, "--set", given)) return code;
    if (!values_.emplace(given.name, Value{given.value}).second) {
      return fail(cat("--set gives ", in_quotes(given.name), " twice"));
    }
  }
  return exit_ok;
}

const std::string* Settings::find(const std::string& name) {
  if (std::ranges::find(known_, name) == known_.end()) known_.push_back(name);
  auto found = values_.find(name);
  if (found == values_.end()) return nullptr;
  found->second.is_used = true;
  return &found->second.text;
}

int Settings::check_used() const {
  for (const auto& [name, value] : values_) {
    if (value.is_used) continue;
    std::string help = suggestion(name, known_);
    if (help.empty()) help = known_.empty() ? "; there are none" : cat("; it takes ", listed(known_));
    return fail(cat("--set names ", in_quotes(name), ", and the bundle has no such number", help));
  }
  return exit_ok;
}

int Entry::open(const Session& session, const std::string& name, const States& states) {
  name_ = name;
  if (int code = session.find(name, function_)) return code;
  inputs_ = input_infos(function_);
  outputs_ = output_infos(function_);
  std::set<std::string> donated = donated_inputs(function_);
  for (const tsr_tensor_info_t& info : inputs_) {
    roles_.push_back(role_of(info, donated.contains(info.name) || states.contains(info.name)));
  }
  arguments_.assign(inputs_.size(), nullptr);
  numbers_.resize(inputs_.size());
  results_.resize(outputs_.size());
  return exit_ok;
}

std::vector<size_t> Entry::inputs_of(Role role) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i] == role) found.push_back(i);
  }
  return found;
}

int Entry::find_output(const std::string& name) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].name == name && !is_update(i)) return int(i);
  }
  return -1;
}

std::string Entry::result_names() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (!is_update(i)) names.push_back(cat(outputs_[i].name, " ", outputs_[i].dtype, outputs_[i].shape));
  }
  return names.empty() ? "none" : listed(names);
}

int Entry::bind_settings(Session& session, Settings& settings) {
  for (Role role : {Role::Step, Role::Steps, Role::Seed}) {
    for (size_t i : inputs_of(role)) {
      std::string name = inputs_[i].name;
      if (!settings.has(name)) continue;
      return fail(cat("--set names ", in_quotes(name), ", which tsr gives by itself",
                      role == Role::Seed ? "; --seed gives other numbers" : ""));
    }
  }
  std::vector<std::string> missing;
  for (size_t i : inputs_of(Role::Setting)) {
    const tsr_tensor_info_t& info = inputs_[i];
    const std::string* text = settings.find(info.name);
    if (!text) {
      missing.push_back(info.name);
      continue;
    }
    OwnedTensor* tensor = nullptr;
    if (int code = read_input(session, {info.name, *text}, info, false, tensor)) return code;
    arguments_[i] = &tensor->tensor;
  }
  if (missing.empty()) return exit_ok;
  return fail(cat(name_, " takes ", listed(missing), missing.size() == 1 ? ", a number" : ", numbers",
                  " without a value; --set ", missing[0], "=NUMBER gives it"));
}

void Entry::bind_states(States& states) {
  for (size_t i : inputs_of(Role::State)) bind(i, states.at(inputs_[i].name));
}

int Entry::write_numbers(const Session& session, Role role, uint64_t number) {
  for (size_t i : inputs_of(role)) {
    DeviceTensor& tensor = numbers_[i];
    if (int code = tensor.reshape(session, inputs_[i], {}, false)) return code;
    if (int code = tensor.write(session, integer_bytes(tensor.dtype(), number))) return code;
    arguments_[i] = tensor.tensor();
  }
  return exit_ok;
}

int Entry::shape_results(const Session& session) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<int64_t> shape(size_t(outputs_[i].ndim));
    int32_t ndim = 0;
    tsr_status_t status = tsrGetOutputShape(function_, i, arguments_.data(), arguments_.size(), shape.data(),
                                            int32_t(shape.size()), &ndim);
    if (status != TSR_SUCCESS) return fail_status(status);
    if (is_update(i)) {
      results_[i].reshape_alias(session, outputs_[i], std::move(shape));
    } else if (int code = results_[i].reshape(session, outputs_[i], std::move(shape), true)) {
      return code;
    }
  }
  return exit_ok;
}

int Entry::call(const Session& session) {
  std::vector<tsr_tensor_t*> results;
  for (size_t i = 0; i < results_.size(); ++i) {
    if (is_update(i)) results_[i].tensor()->data = nullptr;  // the call before has put its place there
    results.push_back(results_[i].tensor());
  }
  tsr_status_t status =
      tsrCall(function_, nullptr, arguments_.data(), arguments_.size(), results.data(), results.size(), nullptr);
  if (status == TSR_SUCCESS) status = tsrSynchronize(session.context(), nullptr, TSR_FOREVER);
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

int Entry::read_number(const Session& session, size_t output, double& value) const {
  std::string content;
  if (int code = results_[output].read(session, content)) return code;
  std::vector<double> numbers = numbers_in(results_[output].dtype(), content);
  value = numbers.empty() ? 0 : numbers[0];
  return exit_ok;
}

std::string integer_bytes(format::Dtype dtype, uint64_t number) {
  std::string bytes(size_t(format::dtype_bits(dtype)) / 8, '\0');
  std::memcpy(bytes.data(), &number, bytes.size());  // little-endian, as all targets are
  return bytes;
}

std::vector<double> numbers_in(format::Dtype dtype, std::string_view content) {
  TensorValue value;
  auto count = int64_t(content.size() * 8) / format::dtype_bits(dtype);
  if (!to_value({"", dtype, {count}, content}, value)) return {};
  std::vector<double> numbers(size_t(value.count()));
  for (size_t i = 0; i < numbers.size(); ++i) {
    Element element = value.get(int64_t(i));
    numbers[i] = is_float(value.dtype()) ? element.f : double(element.i);
  }
  return numbers;
}

std::vector<std::string> names_in(const std::vector<tsr_tensor_info_t>& infos) {
  std::vector<std::string> names;
  for (const tsr_tensor_info_t& info : infos) names.push_back(info.name);
  return names;
}

}  // namespace tessera::tool::train
