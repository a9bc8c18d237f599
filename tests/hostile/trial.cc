#include "hostile/trial.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "hostile/stand_in.h"
#include "runtime/core/context.h"
#include "runtime/core/tensor.h"

namespace tessera::hostile {

namespace {

using namespace runtime;
using check::Random;
using format::cat;

constexpr int64_t max_bytes = 1 << 20;  // of an argument
constexpr tsr_limits_t limits{20000, 1000, 16 << 20};

/// A context whose kernels are stand-ins, between guard pages.
std::unique_ptr<Context> make_context(uint32_t checks) {
  auto context = std::make_unique<Context>();
  context->checks = checks;
  auto debug = std::make_unique<DebugDevice>(make_stand_in(), checks);
  context->debug = debug.get();
  context->device = std::move(debug);
  for (MemoryKind kind : {MemoryKind::Device, MemoryKind::Host, MemoryKind::Pinned}) {
    context->device->memory(kind).budget = &context->budget;
  }
  if (context->device->make_default_stream(context->default_stream).failed()) return nullptr;
  context->set_limits(limits);
  return context;
}

/// An argument in guarded memory, and what was in it.
struct Tensor {
  tsr_tensor_t tensor{};
  std::vector<int64_t> shape;
  std::string content;
};

/// Calls one function; its plan is known to have been checked.
class Caller {
 public:
  Caller(Context& context, Function& function, Random& random)
      : context_(context), function_(function), plan_(function.plan), random_(random) {}

  Verdict call(std::string& why) {
    static constexpr int64_t extents[] = {0, 1, 2, 3, 4, 5, 8, 16, 17};
    for (size_t i = 0; i < plan_.dims.size(); ++i) dims_.push_back(random_.of(extents));
    if (!bind_parameters()) return Verdict::Loaded;
    std::vector<const tsr_tensor_t*> inputs;
    for (uint32_t index : function_.inputs) {
      if (!make(index)) return Verdict::Loaded;
      inputs.push_back(&tensors_[index].tensor);
    }
    std::vector<tsr_tensor_t*> outputs;
    for (size_t i = 0; i < function_.outputs.size(); ++i) {
      if (!make_output(inputs, i)) return Verdict::Loaded;
      outputs.push_back(&tensors_[function_.outputs[i]].tensor);
    }
    tsr_status_t status =
        tsrCall(function_.handle.get(), nullptr, inputs.data(), inputs.size(), outputs.data(), outputs.size(), nullptr);
    why = status == TSR_SUCCESS ? "" : tsrGetLastError();
    if (status == TSR_EINTERNAL || status == TSR_ECHECK) return Verdict::Wrong;
    return is_kept(why) ? status == TSR_SUCCESS ? Verdict::Called : Verdict::Loaded : Verdict::Wrong;
  }

 private:
  bool allocate(Tensor& made, format::Dtype dtype) {
    auto count = format::element_count(made.shape);
    auto bytes = count ? format::bytes_of(dtype, *count) : std::nullopt;
    if (!bytes || *bytes > max_bytes) return false;
    if (tsrAlloc(context_.handle.get(), size_t(*bytes), TSR_HOST, &made.tensor.data) != TSR_SUCCESS) return false;
    made.tensor.device = {1, 0};
    made.tensor.dtype = dlpack_dtype(dtype);
    made.tensor.ndim = int32_t(made.shape.size());
    made.tensor.shape = made.shape.data();
    made.content.resize(size_t(*bytes));
    return true;
  }

  /// An input or parameter with random content.
  bool make(uint32_t index) {
    const format::PlanBuffer& buffer = plan_.buffers[index];
    Tensor& made = tensors_[index];
    for (uint32_t extent : buffer.shape) {
      int64_t value = 0;
      if (format::evaluate(plan_.exprs[extent], dims_, value) != format::EvalStatus::Ok) return false;
      made.shape.push_back(value);
    }
    if (!allocate(made, buffer.dtype)) return false;
    for (char& byte : made.content) byte = char(random_.pick(4));
    for (size_t i = 0; i < plan_.dims.size(); ++i) {
      bool is_size = plan_.dims[i].source == format::DimSource::Scalar && plan_.dims[i].buffer == index;
      if (is_size) std::memcpy(made.content.data(), &dims_[i], made.content.size());
    }
    if (!made.content.empty()) std::memcpy(made.tensor.data, made.content.data(), made.content.size());
    return true;
  }

  bool make_output(const std::vector<const tsr_tensor_t*>& inputs, size_t i) {
    uint32_t index = function_.outputs[i];
    Tensor& made = tensors_[index];
    made.shape.resize(plan_.buffers[index].shape.size());
    int32_t rank = 0;
    tsr_status_t status = tsrGetOutputShape(function_.handle.get(), i, inputs.data(), inputs.size(), made.shape.data(),
                                            int32_t(made.shape.size()), &rank);
    if (status != TSR_SUCCESS || !allocate(made, plan_.buffers[index].dtype)) return false;
    if (function_.donors[i] != format::no_index) made.tensor.data = nullptr;
    return true;
  }

  bool bind_parameters() {
    for (uint32_t index : function_.params) {
      if (!make(index)) return false;
      const char* name = plan_.buffers[index].name.c_str();
      const tsr_tensor_t* tensor = &tensors_[index].tensor;
      if (tsrBindParameters(function_.module->handle.get(), &name, &tensor, 1) != TSR_SUCCESS) return false;
    }
    return true;
  }

  /// Parameters and inputs that are not donated are what they were.
  bool is_kept(std::string& why) const {
    for (const auto& [index, tensor] : tensors_) {
      bool is_output = plan_.buffers[index].kind == format::BufferKind::Output;
      bool is_donated = std::ranges::count(function_.donors, index) != 0;
      if (is_output || is_donated || tensor.content.empty()) continue;
      if (std::memcmp(tensor.tensor.data, tensor.content.data(), tensor.content.size()) == 0) continue;
      why = cat(function_.plan.entry, " wrote to ", plan_.buffers[index].name, ", which it may only read");
      return false;
    }
    return true;
  }

  Context& context_;
  Function& function_;
  const format::Plan& plan_;
  Random& random_;
  std::vector<int64_t> dims_;
  std::map<uint32_t, Tensor> tensors_;  ///< by buffer
};

/// The bundle's own code, which is loaded and not run, and signatures without code.
bool load_really(const std::string& bytes, std::string& why) {
  for (uint32_t flags : {0u, TSR_NO_CODE}) {
    tsr_context_t context = nullptr;
    tsr_module_t module = nullptr;
    if (tsrCreateContext(&context) != TSR_SUCCESS) return false;
    tsr_module_options_t options{.size = sizeof options, .flags = flags, .reserved = 0};
    tsr_status_t status = tsrLoadModuleWith(context, bytes.data(), bytes.size(), &options, &module);
    if (status == TSR_EINTERNAL) why = tsrGetLastError();
    tsrDestroyContext(context);
    if (status == TSR_EINTERNAL) return false;
  }
  return true;
}

}  // namespace

Verdict try_bundle(const std::string& bytes, Random& random, std::string& why) {
  if (!load_really(bytes, why)) return Verdict::Wrong;
  uint32_t checks = TSR_CHECK_GUARDS | (random.one_in(2) ? TSR_CHECK_CANARIES : 0);
  std::unique_ptr<Context> context = make_context(checks);
  if (!context) return Verdict::Wrong;
  tsr_module_t module = nullptr;
  tsr_status_t status = tsrLoadModule(context->handle.get(), bytes.data(), bytes.size(), &module);
  why = status == TSR_SUCCESS ? "" : tsrGetLastError();
  if (status != TSR_SUCCESS) return status == TSR_EINTERNAL ? Verdict::Wrong : Verdict::Refused;
  Verdict best = Verdict::Loaded;
  for (const auto& function : context->modules.begin()->second->functions) {
    for (int iteration = 0; iteration < 4; ++iteration) {
      Verdict verdict = Caller(*context, *function, random).call(why);
      if (verdict == Verdict::Wrong) return verdict;
      if (verdict == Verdict::Called) best = verdict;
    }
  }
  return best;
}

}  // namespace tessera::hostile
