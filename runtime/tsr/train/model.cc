#include "runtime/tsr/train/model.h"

#include <algorithm>
#include <cstring>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"
#include "runtime/tsr/numbered.h"
#include "support/render/units.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::Dtype;
using format::in_quotes;

/// Whether all bits of the exponent are set in one of the elements.
template <typename Bits>
bool has_exponent(std::string_view bytes, Bits exponent) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return true;
  }
  return false;
}

bool is_finite(const format::TensorView& tensor) {
  switch (tensor.dtype) {
    case Dtype::F64: return !has_exponent(tensor.bytes, uint64_t(0x7ff0) << 48);
    case Dtype::F32:
    case Dtype::Tf32: return !has_exponent(tensor.bytes, uint32_t(0x7f800000));
    case Dtype::Bf16: return !has_exponent(tensor.bytes, uint16_t(0x7f80));
    case Dtype::F16: return !has_exponent(tensor.bytes, uint16_t(0x7c00));
    default: return true;
  }
}

std::string type_of(Dtype dtype, const std::vector<int64_t>& shape) {
  return cat(format::dtype_name(dtype), format::shape_text(shape));
}

std::string count_text(size_t count, std::string_view thing) {
  return cat(count, " ", thing, count == 1 ? "" : "s");
}

}  // namespace

std::vector<std::string> Snapshot::not_finite() const {
  std::vector<std::string> names;
  for (const format::TensorView& tensor : tensors) {
    if (!is_finite(tensor)) names.push_back(tensor.name);
  }
  return names;
}

int Model::bind_parameters(const std::string& bundle, const std::vector<std::string>& files, uint64_t seed,
                           bool are_replaced) {
  if (int code = session_.bind_files(files, true)) return code;
  std::vector<std::string> names = session_.parameter_names();
  if (std::ranges::all_of(names, [&](const std::string& name) { return session_.bound(name); })) return exit_ok;
  return are_replaced ? make_room() : initialise(bundle, seed);
}

int Model::make_room() {
  size_t count = 0;
  tsrGetParameterCount(session_.module(), &count);
  for (size_t i = 0; i < count; ++i) {
    tsr_tensor_info_t info = unread_info();
    tsrGetParameterInfo(session_.module(), i, &info);
    if (session_.bound(info.name)) continue;
    std::vector<int64_t> shape;
    if (int code = SizeTable().resolve(info, shape)) return code;
    OwnedTensor* tensor = nullptr;
    if (int code = session_.make_tensor(*format::find_dtype(info.dtype), shape, "", tensor)) return code;
    if (int code = session_.bind(info.name, *tensor)) return code;
  }
  return exit_ok;
}

int Model::initialise(const std::string& bundle, uint64_t seed) {
  GraphIr graph;
  if (int code = graph.open(bundle)) return code;
  std::vector<InitialValue> values;
  if (int code = initial_values(graph, seed, values)) return code;
  for (const std::string& name : session_.parameter_names()) {
    if (session_.bound(name)) continue;
    auto found = std::ranges::find_if(values, [&](const InitialValue& each) { return each.name == name; });
    if (found == values.end()) {
      return fail(cat("the parameter ", in_quotes(name), " has no initial value; --params names a file with it"));
    }
    format::TensorView view = to_view(name, found->value);
    OwnedTensor* tensor = nullptr;
    if (int code = session_.make_donated(view.dtype, view.shape, view.bytes, tensor)) return code;
    if (int code = session_.bind(name, *tensor)) return code;
  }
  return exit_ok;
}

int Model::make_states(const Entry& entry, const SizeTable& sizes) {
  for (size_t i : entry.inputs_of(Role::State)) {
    const tsr_tensor_info_t& info = entry.input(i);
    if (states_.contains(info.name)) continue;
    if (session_.bound(info.name)) {
      return fail(cat(in_quotes(info.name), " is both a parameter and a state; checkpoints need two names"));
    }
    std::vector<int64_t> shape;
    if (int code = sizes.resolve(info, shape)) return code;
    DeviceTensor& state = states_[info.name];
    if (int code = state.reshape(session_, info, shape, true)) return code;
    if (int code = state.fill_zeros(session_)) return code;
  }
  return exit_ok;
}

int Model::read(Snapshot& snapshot) {
  std::vector<std::string> names = session_.parameter_names();
  snapshot = {};
  snapshot.storage.resize(names.size() + states_.size());
  snapshot.parameters = names.size();
  for (const std::string& name : names) {
    const OwnedTensor& tensor = *session_.bound(name);
    std::string_view content;
    if (int code = session_.read(tensor, snapshot.storage[snapshot.tensors.size()], content)) return code;
    snapshot.tensors.push_back({name, tensor.dtype, tensor.shape, content});
  }
  for (auto& [name, state] : states_) {
    std::string_view content;
    if (int code = state.view(session_, snapshot.storage[snapshot.tensors.size()], content)) return code;
    snapshot.tensors.push_back({name, state.dtype(), state.shape(), content});
  }
  return exit_ok;
}

int Model::write(const std::vector<format::TensorView>& tensors, std::string& problem) {
  problem = differences(tensors);
  if (!problem.empty()) return exit_ok;
  for (const format::TensorView& tensor : tensors) {
    auto state = states_.find(tensor.name);
    int code = state == states_.end() ? session_.write(*session_.bound(tensor.name), tensor.bytes)
                                      : state->second.write(session_, tensor.bytes);
    if (code) return code;
  }
  return exit_ok;
}

std::string Model::differences(const std::vector<format::TensorView>& tensors) const {
  std::map<std::string, std::string> wanted, given;
  for (const std::string& name : session_.parameter_names()) {
    const OwnedTensor& tensor = *session_.bound(name);
    wanted[name] = type_of(tensor.dtype, tensor.shape);
  }
  for (const auto& [name, state] : states_) wanted[name] = type_of(state.dtype(), state.shape());
  for (const format::TensorView& tensor : tensors) given[tensor.name] = type_of(tensor.dtype, tensor.shape);
  std::vector<Named> parts;
  for (const auto& [name, type] : wanted) {
    auto found = given.find(name);
    if (found == given.end()) {
      parts.push_back({name, cat("it lacks ", name, " ", type)});
    } else if (found->second != type) {
      parts.push_back({name, cat(name, " is ", found->second, " there, ", type, " here")});
    }
  }
  for (const auto& [name, type] : given) {
    if (!wanted.contains(name)) parts.push_back({name, cat(name, " ", type, " is there only")});
  }
  std::string text;
  for (const std::string& part : fold_numbered(parts)) text += cat(text.empty() ? "" : "; ", part);
  return text;
}

std::string Model::summary() const {
  double parameter_bytes = 0, state_bytes = 0;
  std::vector<std::string> names = session_.parameter_names();
  for (const std::string& name : names) parameter_bytes += double(session_.bound(name)->bytes);
  for (const auto& [name, state] : states_) state_bytes += double(state.bytes());
  std::string text = cat(count_text(names.size(), "parameter"), ", ", bytes_text(parameter_bytes));
  if (states_.empty()) return text;
  return cat(text, "; ", count_text(states_.size(), "state"), ", ", bytes_text(state_bytes));
}

}  // namespace tessera::tool::train
