#include "runtime/tsr/session.h"

#include <algorithm>
#include <cstring>

#include "runtime/format/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

tsr_dtype_t dlpack_dtype(format::Dtype dtype) {
  const format::DtypeInfo& info = format::dtype_info(dtype);
  return {info.dlpack_code, uint8_t(info.bits), 1};
}

void describe(OwnedTensor& owned) {
  owned.tensor.device = {1, 0};
  owned.tensor.ndim = int32_t(owned.shape.size());
  owned.tensor.dtype = dlpack_dtype(owned.dtype);
  owned.tensor.shape = owned.shape.data();
}

std::vector<tsr_tensor_info_t> infos(tsr_function_t function, size_t count,
                                     tsr_status_t (*get)(tsr_function_t, size_t,
                                                         tsr_tensor_info_t*)) {
  std::vector<tsr_tensor_info_t> out(count);
  for (size_t i = 0; i < count; ++i) get(function, i, &out[i]);
  return out;
}

}  // namespace

int Session::open(const std::string& bundle, const std::string& device, int threads) {
  tsr_status_t status = tsrCreateContextFor(device.c_str(), &context_);
  if (status != TSR_SUCCESS) return fail_status(status);
  if (threads != 0) {
    status = tsrSetThreads(context_, uint32_t(threads));
    if (status != TSR_SUCCESS) return fail_status(status);
  }
  status = tsrLoadModuleFile(context_, bundle.c_str(), &module_);
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

int Session::find(const std::string& entry, tsr_function_t& function) const {
  tsr_status_t status = tsrGetFunction(module_, entry.c_str(), &function);
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

std::vector<std::string> Session::entry_names() const {
  size_t count = 0;
  tsrGetFunctionCount(module_, &count);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const char* name = nullptr;
    tsrGetFunctionName(module_, i, &name);
    names.push_back(name);
  }
  return names;
}

std::vector<std::string> Session::parameter_names() const {
  size_t count = 0;
  tsrGetParameterCount(module_, &count);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    tsr_tensor_info_t info;
    tsrGetParameterInfo(module_, i, &info);
    names.push_back(info.name);
  }
  return names;
}

int Session::bind_files(const std::vector<std::string>& paths) {
  std::vector<std::string> bound;
  for (const std::string& path : paths) {
    if (int code = bind_file(path, bound)) return code;
  }
  return exit_ok;
}

int Session::bind_file(const std::string& path, std::vector<std::string>& bound) {
  auto file = format::MappedFile::open(path);
  if (!file) return fail(file.error().text);
  files_.push_back(std::move(*file));
  auto view = format::SafetensorsView::open(files_.back().bytes());
  if (!view) return fail(cat(path, ": ", view.error().text));
  std::vector<std::string> known = parameter_names();
  Progress progress("parameters", view->tensors().size());
  for (const format::TensorView& tensor : view->tensors()) {
    if (std::find(known.begin(), known.end(), tensor.name) == known.end()) {
      return fail(cat(path, ": the bundle has no parameter ", in_quotes(tensor.name),
                      suggestion(tensor.name, known)));
    }
    if (std::find(bound.begin(), bound.end(), tensor.name) != bound.end()) {
      return fail(
          cat(path, ": an earlier file has the parameter ", in_quotes(tensor.name), ", too"));
    }
    bound.push_back(tensor.name);
    OwnedTensor* owned = nullptr;
    bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % 64 == 0;
    if (is_aligned) {  // used where it is
      owned = &tensors_.emplace_back();
      owned->dtype = tensor.dtype;
      owned->shape = tensor.shape;
      owned->bytes = tensor.bytes.size();
      owned->tensor.data = const_cast<char*>(tensor.bytes.data());
      describe(*owned);
    } else if (int code = make_tensor(tensor.dtype, tensor.shape, tensor.bytes, owned)) {
      return code;
    }
    if (int code = bind(tensor.name, *owned)) return code;
    progress.advance();
  }
  return exit_ok;
}

int Session::bind(const std::string& name, const OwnedTensor& tensor) {
  const char* names[] = {name.c_str()};
  const tsr_tensor_t* tensors[] = {&tensor.tensor};
  tsr_status_t status = tsrBindParameters(module_, 1, names, tensors);
  if (status != TSR_SUCCESS) return fail_status(status);
  bound_[name] = &tensor;
  return exit_ok;
}

const OwnedTensor* Session::bound(const std::string& name) const {
  auto it = bound_.find(name);
  return it == bound_.end() ? nullptr : it->second;
}

int Session::require_parameters(tsr_function_t function,
                                const std::vector<std::string>& paths) const {
  size_t count = 0;
  tsrGetFunctionParameterCount(function, &count);
  for (size_t i = 0; i < count; ++i) {
    tsr_tensor_info_t info;
    tsrGetFunctionParameterInfo(function, i, &info);
    if (info.flags & TSR_TENSOR_BOUND) continue;
    std::string title = cat("the parameter ", in_quotes(info.name), ", ", info.dtype, info.shape);
    if (paths.empty()) return fail(cat(title, ", has no value; --params names a file with it"));
    return fail(cat(title, ", is not in ", in_quotes(paths.back()),
                    paths.size() == 1 ? "" : " or the files before it"));
  }
  return exit_ok;
}

int Session::make_tensor(format::Dtype dtype, std::vector<int64_t> shape, std::string_view content,
                         OwnedTensor*& tensor) {
  auto count = format::element_count(shape);
  auto bytes = count ? format::bytes_of(dtype, *count) : std::nullopt;
  if (!bytes) return fail(cat("a tensor of shape ", format::shape_text(shape), " has no size"));
  OwnedTensor& made = tensors_.emplace_back();
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.bytes = size_t(*bytes);
  describe(made);
  tsr_status_t status = tsrAlloc(context_, made.bytes, TSR_HOST, &made.tensor.data);
  if (status != TSR_SUCCESS) return fail_status(status);
  if (!content.empty()) std::memcpy(made.tensor.data, content.data(), content.size());
  tensor = &made;
  return exit_ok;
}

std::vector<tsr_tensor_info_t> input_infos(tsr_function_t function) {
  size_t count = 0;
  tsrGetSignature(function, &count, nullptr);
  return infos(function, count, tsrGetInputInfo);
}

std::vector<tsr_tensor_info_t> output_infos(tsr_function_t function) {
  size_t count = 0;
  tsrGetSignature(function, nullptr, &count);
  return infos(function, count, tsrGetOutputInfo);
}

}  // namespace tessera::tool
