#include "runtime/tsr/session.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/files/text.h"
#include "runtime/files/threads.h"
#include "runtime/format/bundle.h"
#include "runtime/format/check_names.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

constexpr tsr_device_t host_place = {1, 0};  // DLPack's CPU

/// The place that DLPack gives a device whose name the library has taken.
tsr_device_t place_of(const std::string& device) {
  size_t colon = device.find(':');
  if (device == "cpu") return host_place;
  return {2, colon == device.npos ? 0 : std::atoi(device.c_str() + colon + 1)};
}

tsr_dtype_t dlpack_dtype(format::Dtype dtype) {
  const format::DtypeInfo& info = format::dtype_info(dtype);
  return {info.dlpack_code, uint8_t(info.bits), 1};
}

void describe(OwnedTensor& owned) {
  owned.tensor.device = host_place;
  owned.tensor.ndim = int32_t(owned.shape.size());
  owned.tensor.dtype = dlpack_dtype(owned.dtype);
  owned.tensor.shape = owned.shape.data();
}

std::vector<tsr_tensor_info_t> infos(tsr_function_t function, size_t count,
                                     tsr_status_t (*get)(tsr_function_t, size_t,
                                                         tsr_tensor_info_t*)) {
  std::vector<tsr_tensor_info_t> out(count, unread_info());
  for (size_t i = 0; i < count; ++i) get(function, i, &out[i]);
  return out;
}

/// The library takes variables that it cannot read as if they were not set; a person wants to know.
int check_switches() {
  for (const char* name : {"TSR_SYNC", "TSR_GRAPHS", "TSR_POISON"}) {
    const char* value = std::getenv(name);
    std::string_view text = value ? value : "";
    bool is_known = text.empty() || text == "0" || text == "1";
    if (!is_known) return fail(cat(name, " is ", in_quotes(text), ", and takes 0 or 1"));
  }
  return exit_ok;
}
int check_thread_variable() {
  const char* text = std::getenv("TSR_THREADS");
  if (!text || runtime::parse_threads(text)) return exit_ok;
  return fail(cat("TSR_THREADS is ", in_quotes(text), ", and takes a number from 1 to ", runtime::most_threads));
}

}  // namespace

int Session::open(const std::string& bundle, const DeviceOptions& options) {
  if (int code = check_bundle_file(bundle)) return code;
  if (options.allow_jit && options.device == "cpu") return fail("--allow-jit is for GPUs, and --device is cpu");
  format::Result<uint32_t> checks = format::parse_checks(options.checks);
  if (!checks) return fail(checks.error().text);
  tsr_context_options_t how{.size = sizeof how, .device = options.device.c_str(), .checks = *checks, .threads = 0};
  tsr_status_t status = tsrCreateContextWith(&how, &context_);
  if (status != TSR_SUCCESS) return fail_status(status);
  device_ = place_of(options.device);
  if (int code = check_switches()) return code;
  if (options.threads == 0) {
    if (int code = check_thread_variable()) return code;
  }
  if (options.threads != 0) {
    status = tsrSetThreads(context_, uint32_t(options.threads));
    if (status != TSR_SUCCESS) return fail_status(status);
  }
  tsr_limits_t limits{sizeof limits, options.max_steps, uint64_t(options.timeout * 1000), options.max_memory};
  status = tsrSetLimits(context_, &limits);
  if (status != TSR_SUCCESS) return fail_status(status);
  uint32_t flags = (options.allow_jit ? TSR_ALLOW_JIT : 0) | (options.no_code ? TSR_NO_CODE : 0);
  tsr_module_options_t loading{.size = sizeof loading, .flags = flags, .reserved = 0};
  status = tsrLoadModuleFile(context_, bundle.c_str(), &loading, &module_);
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

std::vector<tsr_tensor_info_t> Session::parameter_infos() const {
  size_t count = 0;
  tsrGetParameterCount(module_, &count);
  std::vector<tsr_tensor_info_t> infos(count, unread_info());
  for (size_t i = 0; i < count; ++i) tsrGetParameterInfo(module_, i, &infos[i]);
  return infos;
}

std::vector<std::string> Session::parameter_names() const {
  std::vector<std::string> names;
  for (const tsr_tensor_info_t& info : parameter_infos()) names.push_back(info.name);
  return names;
}

std::set<std::string> Session::updated_parameters() const {
  std::set<std::string> names;
  for (const tsr_tensor_info_t& info : parameter_infos()) {
    if (info.flags & TSR_TENSOR_UPDATED) names.insert(info.name);
  }
  return names;
}

int Session::bind_files(const std::vector<std::string>& paths, bool are_written) {
  std::vector<std::string> bound;
  for (const std::string& path : paths) {
    if (int code = bind_file(path, are_written, bound)) return code;
  }
  return exit_ok;
}

int Session::bind_file(const std::string& path, bool are_written, std::vector<std::string>& bound) {
  auto file = format::MappedFile::map(path);
  if (!file) return fail_read(path, file.error().text);
  files_.push_back(std::move(*file));
  auto view = format::SafetensorsView::open(files_.back().bytes());
  if (!view) {
    return fail_content(diag::bad_tensor_file, path, files_.back().bytes(), "a safetensors file", view.error().text);
  }
  std::vector<std::string> known = parameter_names();
  std::set<std::string> updated = updated_parameters();
  Progress progress("parameters", view->tensors().size());
  for (const format::TensorView& tensor : view->tensors()) {
    if (std::find(known.begin(), known.end(), tensor.name) == known.end()) {
      auto is_its_end = [&](const std::string& name) { return tensor.name.ends_with("." + name); };
      auto meant = std::ranges::find_if(known, is_its_end);  // "model.w" is a key of PyTorch
      return fail(cat(path, ": the bundle has no parameter ", in_quotes(tensor.name),
                      meant == known.end() ? suggestion(tensor.name, known) : cat("; did you mean '", *meant, "'?")));
    }
    if (std::find(bound.begin(), bound.end(), tensor.name) != bound.end()) {
      return fail(
          cat(path, ": an earlier file has the parameter ", in_quotes(tensor.name), ", too"));
    }
    bound.push_back(tensor.name);
    OwnedTensor* owned = nullptr;
    bool is_aligned = reinterpret_cast<uintptr_t>(tensor.bytes.data()) % 64 == 0;
    bool is_written = are_written || updated.contains(tensor.name);
    if (is_aligned && is_host() && !is_written) {  // used where it is
      owned = &tensors_.emplace_back();
      owned->dtype = tensor.dtype;
      owned->shape = tensor.shape;
      owned->bytes = tensor.bytes.size();
      owned->tensor.data = const_cast<char*>(tensor.bytes.data());
      describe(*owned);
    } else if (int code = is_written ? make_donated(tensor.dtype, tensor.shape, tensor.bytes, owned)
                                     : make_tensor(tensor.dtype, tensor.shape, tensor.bytes, owned)) {
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
  tsr_status_t status = tsrBindParameters(module_, names, tensors, 1);
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
    tsr_tensor_info_t info = unread_info();
    tsrGetFunctionParameterInfo(function, i, &info);
    if (info.flags & TSR_TENSOR_BOUND) continue;
    std::string title = cat("the parameter ", in_quotes(info.name), ", ", info.dtype, info.shape);
    if (paths.empty()) {
      return fail(cat(title, ", has no value; --params names a file with it, and 'tsr init' makes one of initial "
                             "values"));
    }
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
  if (int code = allocate(made, is_host() || (made.shape.empty() && !content.empty()))) return code;
  tensor = &made;
  if (content.empty()) return exit_ok;
  tsr_status_t status =
      tsrCopy(context_, nullptr, made.tensor.data, content.data(), content.size());
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

int Session::make_donated(format::Dtype dtype, std::vector<int64_t> shape, std::string_view content,
                          OwnedTensor*& tensor) {
  if (int code = make_tensor(dtype, std::move(shape), "", tensor)) return code;
  return write(*tensor, content);
}

int Session::allocate(OwnedTensor& tensor, bool on_host) {
  tensor.tensor.device = on_host ? host_place : device_;
  tsr_status_t status =
      tsrAlloc(context_, tensor.bytes, on_host ? TSR_HOST : TSR_DEVICE, &tensor.tensor.data);
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

int Session::write(const OwnedTensor& tensor, std::string_view content) const {
  if (content.size() != tensor.bytes) return fail("a tensor's content has another size than the tensor");
  if (content.empty()) return exit_ok;
  tsr_status_t status = tsrCopy(context_, nullptr, tensor.tensor.data, content.data(), content.size());
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

int Session::read(const OwnedTensor& tensor, std::string& storage,
                  std::string_view& content) const {
  content = tensor.content();
  if (tensor.tensor.device.device_type == host_place.device_type || tensor.bytes == 0) {
    return exit_ok;
  }
  storage.resize(tensor.bytes);
  tsr_status_t status = tsrCopy(context_, nullptr, storage.data(), content.data(), tensor.bytes);
  content = storage;
  return status == TSR_SUCCESS ? exit_ok : fail_status(status);
}

std::optional<format::ManifestEntry> manifest_entry(const std::string& bundle, const std::string& entry) {
  auto file = format::MappedFile::map(bundle);
  auto view = file ? format::BundleView::open(file->bytes()) : format::Result<format::BundleView>(format::Error{});
  if (!view) return std::nullopt;
  const std::vector<format::ManifestEntry>& entries = view->manifest().entries;
  auto found = std::ranges::find(entries, entry, &format::ManifestEntry::name);
  return found == entries.end() ? std::nullopt : std::optional(*found);
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

std::set<std::string> donated_inputs(tsr_function_t function) {
  std::set<std::string> names;
  for (const tsr_tensor_info_t& info : output_infos(function)) {
    if (info.flags & TSR_TENSOR_DONATED) names.insert(info.alias_of);
  }
  return names;
}

}  // namespace tessera::tool
