#include "runtime/tsr/tensor_files.h"

#include <charconv>
#include <cstring>

#include "runtime/files/npy.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::Dtype;
using format::in_quotes;

bool is_safetensors(const std::string& path) {
  return path.ends_with(".safetensors");
}

/// The bytes of a number, as an array of rank 0.
int read_number(const Assignment& from, const tsr_tensor_info_t& info, std::string& bytes) {
  if (!encode_number(from.value, *format::find_dtype(info.dtype), bytes)) {
    return fail(cat("input ", in_quotes(from.name), ": ", in_quotes(from.value),
                    " is neither a file (.npy, .safetensors) nor ",
                    info.dtype == std::string_view("bool") ? "true or false" : cat("a number of dtype ", info.dtype)));
  }
  return exit_ok;
}

/// What NumPy calls a dtype of floats that its files may have; empty for others.
std::string_view numpy_float(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64: return "'float64'";
    case Dtype::F32: return "'float32'";
    case Dtype::F16: return "'float16'";
    case Dtype::Bf16: return "ml_dtypes.bfloat16";
    default: return "";
  }
}

/// Makes floats of a file, x, floats of another dtype; empty where they are the same or no floats.
std::string numpy_conversion(Dtype from, Dtype to) {
  if (from == to || numpy_float(from).empty() || numpy_float(to).empty()) return "";
  std::string view = from == Dtype::Bf16 ? cat(".view(", numpy_float(from), ")") : "";
  return cat("x", view, ".astype(", numpy_float(to), ")");
}

}  // namespace

bool is_tensor_file(const std::string& path) {
  return path.ends_with(".npy") || is_safetensors(path);
}

int split_assignment(const std::string& text, const std::string& option, Assignment& out) {
  size_t at = text.find('=');
  if (at == text.npos || at == 0 || at + 1 == text.size()) {
    return fail(cat(option, " takes NAME=VALUE, got ", in_quotes(text)));
  }
  out = {text.substr(0, at), text.substr(at + 1)};
  return exit_ok;
}

int require_safetensors(const std::string& option, const std::string& path) {
  if (is_safetensors(path)) return exit_ok;
  return fail(cat(option, " writes .safetensors, not ", in_quotes(path)));
}

bool is_integer(Dtype dtype) {
  const format::DtypeInfo& info = format::dtype_info(dtype);
  return info.bits >= 8 && info.dlpack_code <= 1;
}

bool encode_number(const std::string& text, Dtype dtype, std::string& bytes) {
  const char* end = text.data() + text.size();
  auto put = [&](auto value) {
    auto [at, status] = std::from_chars(text.data(), end, value);
    if (status != std::errc() || at != end) return false;
    bytes.assign(reinterpret_cast<const char*>(&value), sizeof value);
    return true;
  };
  switch (dtype) {
    case Dtype::F64:
      return put(double());
    case Dtype::F32:
    case Dtype::Tf32:
      return put(float());
    case Dtype::I64:
      return put(int64_t());
    case Dtype::I32:
      return put(int32_t());
    case Dtype::I16:
      return put(int16_t());
    case Dtype::I8:
      return put(int8_t());
    case Dtype::U64:
      return put(uint64_t());
    case Dtype::U32:
      return put(uint32_t());
    case Dtype::U16:
      return put(uint16_t());
    case Dtype::U8:
      return put(uint8_t());
    case Dtype::Bool:
      bytes.assign(1, text == "true" || text == "True" || text == "1" ? '\1' : '\0');
      return bytes[0] || text == "false" || text == "False" || text == "0";
    case Dtype::Bf16:
    case Dtype::F16:
    case Dtype::F8E4M3:
    case Dtype::F8E5M2:
    case Dtype::I4:
      return false;
  }
  return false;
}

int read_input(Session& session, const Assignment& from, const tsr_tensor_info_t& info,
               bool is_donated, OwnedTensor*& tensor) {
  auto make = [&](Dtype dtype, const std::vector<int64_t>& shape, std::string_view content) {
    return is_donated ? session.make_donated(dtype, shape, content, tensor)
                      : session.make_tensor(dtype, shape, content, tensor);
  };
  bool is_npy = from.value.ends_with(".npy");
  if (!is_npy && !is_safetensors(from.value) && info.ndim == 0) {
    std::string bytes;
    if (int code = read_number(from, info, bytes)) return code;
    return make(*format::find_dtype(info.dtype), {}, bytes);
  }
  auto file = format::MappedFile::map(from.value);
  if (!file) return fail_read(from.value, file.error().text);
  if (!is_safetensors(from.value)) {
    auto array = format::read_npy(file->bytes());
    if (!array) {
      return fail_content(diag::bad_tensor_file, from.value, file->bytes(), "a NumPy array", array.error().text);
    }
    std::string conversion = numpy_conversion(array->dtype, *format::find_dtype(info.dtype));
    if (!conversion.empty()) {
      return fail(cat("input ", in_quotes(from.name), " is ", info.dtype, ", ", from.value, " is ",
                      format::dtype_name(array->dtype), ": save ", conversion));
    }
    return make(array->dtype, array->shape, array->bytes);
  }
  auto view = format::SafetensorsView::open(file->bytes());
  if (!view) {
    return fail_content(diag::bad_tensor_file, from.value, file->bytes(), "a safetensors file", view.error().text);
  }
  const format::TensorView* found = view->find(from.name);
  if (!found) return fail(diag::bad_tensor_file, cat(from.value, " has no tensor ", in_quotes(from.name)));
  return make(found->dtype, found->shape, found->bytes);
}

int write_output(const Session& session, PendingFiles& files, const Assignment& to,
                 const OwnedTensor& tensor) {
  std::string storage;
  std::string_view content;
  if (int code = session.read(tensor, storage, content)) return code;
  auto bytes = is_safetensors(to.value)
                   ? format::write_safetensors({{to.name, tensor.dtype, tensor.shape, content}})
                   : format::write_npy({tensor.dtype, tensor.shape, content});
  if (!bytes) return fail(diag::bad_tensor_file, cat(to.value, ": ", bytes.error().text));
  std::string problem;
  return files.write(to.value, *bytes, problem) ? exit_ok : fail_write(to.value, problem);
}

}  // namespace tessera::tool
