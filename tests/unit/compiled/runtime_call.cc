#include "unit/compiled/runtime_call.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "unit/compiled/guarded_memory.h"

namespace tessera::test {

namespace {

/// A tensor of a call: guarded memory, and what libtessera is told of it.
class GuardedTensor {
 public:
  GuardedTensor(const TensorValue& value, tsr_dtype_t dtype) : memory_(value.byte_count()), extents_(value.dims()) {
    raw_ = {memory_.data(), {1, 0}, int32_t(extents_.size()), dtype, extents_.data(), nullptr, 0};
  }
  GuardedTensor(const GuardedTensor&) = delete;
  GuardedTensor& operator=(const GuardedTensor&) = delete;

  tsr_tensor_t* raw() { return &raw_; }
  bool is_intact() const { return memory_.is_intact(); }
  bool holds(const TensorValue& value) {
    return !value.count() || !std::memcmp(memory_.data(), value.data(), value.byte_count());
  }
  void fill(const TensorValue& value) {
    if (value.count()) std::memcpy(memory_.data(), value.data(), value.byte_count());
  }
  TensorValue value(DType dtype) {
    TensorValue copy = *TensorValue::make(dtype, extents_);
    if (copy.count()) std::memcpy(copy.data(), memory_.data(), copy.byte_count());
    return copy;
  }

 private:
  GuardedMemory memory_;
  std::vector<int64_t> extents_;
  tsr_tensor_t raw_;
};

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

/// The tensors of one call.
class Call {
 public:
  Call(tsr_function_t function, const std::vector<TensorValue>& arguments, const std::vector<TensorValue>& wanted)
      : function_(function), arguments_(arguments), wanted_(wanted) {
    require(tsrGetSignature(function, &input_count_, &output_count_));
    expect(arguments.size() >= input_count_ && wanted.size() == output_count_, "the function has another signature");
    for (size_t i = 0; i < arguments.size(); ++i) add_argument(i);
    for (size_t i = 0; i < wanted.size(); ++i) add_result(i);
  }

  void run(tsr_module_t module) {
    std::vector<const tsr_tensor_t*> given, params;
    std::vector<tsr_tensor_t*> made;
    for (size_t i = 0; i < inputs_.size(); ++i) (i < input_count_ ? given : params).push_back(inputs_[i]->raw());
    for (auto& output : outputs_) made.push_back(output->raw());
    if (!params.empty()) require(tsrBindParameters(module, params_.data(), params.data(), params.size()));
    require(tsrCall(function_, nullptr, given.data(), given.size(), made.data(), made.size(), nullptr));
  }

  std::vector<TensorValue> results() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      expect(inputs_[i]->is_intact(), "memory beside an argument was written to");
      expect(donated_.contains(i) || inputs_[i]->holds(arguments_[i]), "an argument was written to");
    }
    std::vector<TensorValue> results;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      expect(outputs_[i]->is_intact(), "memory beside a result was written to");
      results.push_back(outputs_[i]->value(wanted_[i].dtype()));
    }
    return results;
  }

 private:
  void add_argument(size_t index) {
    tsr_tensor_info_t info{};
    info.size = sizeof info;
    bool is_input = index < input_count_;
    if (is_input) require(tsrGetInputInfo(function_, index, &info));
    if (!is_input) require(tsrGetFunctionParameterInfo(function_, index - input_count_, &info));
    if (is_input) names_.push_back(info.name);
    if (!is_input) params_.push_back(info.name);
    inputs_.push_back(std::make_shared<GuardedTensor>(arguments_[index], info.element));
    inputs_.back()->fill(arguments_[index]);
  }

  /// A result in the memory of a donated argument is that argument's tensor.
  void add_result(size_t index) {
    tsr_tensor_info_t info{};
    info.size = sizeof info;
    require(tsrGetOutputInfo(function_, index, &info));
    if (info.flags & TSR_TENSOR_DONATED) {
      size_t donor = size_t(std::find(names_.begin(), names_.end(), info.alias_of) - names_.begin());
      expect(donor < names_.size(), "a result lies in the memory of no input");
      donated_.insert(donor);
      return outputs_.push_back(inputs_[donor]);
    }
    outputs_.push_back(std::make_shared<GuardedTensor>(wanted_[index], info.element));
  }

  tsr_function_t function_;
  const std::vector<TensorValue>&arguments_, &wanted_;
  size_t input_count_ = 0, output_count_ = 0;
  std::vector<std::shared_ptr<GuardedTensor>> inputs_, outputs_;
  std::vector<std::string> names_;     ///< of inputs
  std::vector<const char*> params_;  ///< names
  std::set<size_t> donated_;
};

}  // namespace

void require(tsr_status_t status) {
  if (status != TSR_SUCCESS) throw std::runtime_error(tsrGetLastError());
}

std::vector<TensorValue> call_function(tsr_function_t function, const std::vector<TensorValue>& arguments,
                                       const std::vector<TensorValue>& wanted, tsr_module_t module) {
  Call call(function, arguments, wanted);
  call.run(module);
  return call.results();
}

}  // namespace tessera::test
