#include "unit/compiled/runtime_call.h"

#include <cstring>
#include <memory>
#include <stdexcept>

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

using Info = decltype(tsrGetInputInfo);

std::unique_ptr<GuardedTensor> guarded(Info* info_of, tsr_function_t function, size_t number, const TensorValue& value) {
  tsr_tensor_info_t info;
  require(info_of(function, number, &info));
  return std::make_unique<GuardedTensor>(value, info.element);
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

void require(tsr_status_t status) {
  if (status != TSR_SUCCESS) throw std::runtime_error(tsrGetLastError());
}

std::vector<TensorValue> call_function(tsr_function_t function, const std::vector<TensorValue>& arguments,
                                       const std::vector<TensorValue>& wanted) {
  std::vector<std::unique_ptr<GuardedTensor>> inputs, outputs;
  std::vector<const tsr_tensor_t*> given;
  std::vector<tsr_tensor_t*> made;
  for (const TensorValue& argument : arguments) {
    inputs.push_back(guarded(tsrGetInputInfo, function, inputs.size(), argument));
    inputs.back()->fill(argument);
    given.push_back(inputs.back()->raw());
  }
  for (const TensorValue& result : wanted) {
    outputs.push_back(guarded(tsrGetOutputInfo, function, outputs.size(), result));
    made.push_back(outputs.back()->raw());
  }
  require(tsrCall(function, nullptr, given.data(), given.size(), made.data(), made.size()));
  std::vector<TensorValue> results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    expect(inputs[i]->is_intact(), "memory beside an argument was written to");
    expect(inputs[i]->holds(arguments[i]), "an argument was written to");
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    expect(outputs[i]->is_intact(), "memory beside a result was written to");
    results.push_back(outputs[i]->value(wanted[i].dtype()));
  }
  return results;
}

}  // namespace tessera::test
