#include "runtime/files/safetensors.h"

#include <algorithm>

#include "runtime/files/bytes.h"
#include "runtime/files/json.h"
#include "runtime/files/safetensors_header.h"
#include "runtime/files/text.h"

namespace tessera::format {

namespace {

constexpr size_t max_header_bytes = size_t(64) << 20;
constexpr size_t data_alignment = 64;
constexpr std::string_view metadata_key = "__metadata__";

/// The first dtype stored under that code.
std::optional<Dtype> find_code(std::string_view code) {
  for (int i = 0; i < dtype_count; ++i) {
    if (!code.empty() && dtype_table[i].safetensors == code) return Dtype(i);
  }
  return std::nullopt;
}

class SafetensorsReader {
 public:
  explicit SafetensorsReader(std::string_view bytes) : bytes_(bytes) {}

  Outcome find_header(std::string_view& header) {
    ByteReader in(bytes_);
    uint64_t header_size = in.u64();
    header = in.raw(header_size);
    if (in.failed() || header.empty()) return error("its header does not fit the file");
    if (header.size() > max_header_bytes) return error("its header is larger than ", max_header_bytes, " bytes");
    if (header[0] != '{') return error("its header does not start with '{'");
    data_ = bytes_.substr(in.position());
    return {};
  }

  Outcome read(std::vector<TensorView>& tensors) {
    std::string_view header;
    if (Outcome found = find_header(header); !found) return found;
    // Counted first: tensors that are moved to more room need twice as much of it meanwhile.
    size_t count = 0;
    auto count_one = [&](const HeaderTensor&) { return ++count, std::string(); };
    if (Outcome counted = read_safetensors_header(header, count_one); !counted) return counted;
    tensors.reserve(count);
    auto add_one = [&](const HeaderTensor& tensor) { return add(tensor, tensors); };
    if (Outcome read = read_safetensors_header(header, add_one); !read) return read;
    return check_cover(tensors);
  }

 private:
  /// What is wrong with the tensor.
  std::string add(const HeaderTensor& described, std::vector<TensorView>& tensors) const {
    auto dtype = find_code(described.dtype);
    if (!dtype) return cat(".dtype: the dtype ", in_quotes(described.dtype), " is not known");
    const std::vector<int64_t>& range = described.offsets;
    if (range.size() != 2 || range[0] < 0 || range[1] < range[0] || uint64_t(range[1]) > data_.size()) {
      return ".data_offsets: it is not a range of the data";
    }
    auto count = element_count(described.shape);
    auto size = count ? bytes_of(*dtype, *count) : std::nullopt;
    if (!size || *size != range[1] - range[0]) {
      return ".data_offsets: it does not have the size of shape and dtype";
    }
    if (size_t(range[0]) % size_t(dtype_bits(*dtype) / 8) != 0) {
      return ".data_offsets: it starts at no multiple of the element's size";
    }
    tensors.push_back({described.name, *dtype, described.shape, data_.substr(size_t(range[0]), size_t(*size))});
    return {};
  }

  /// The tensors, one after another, are the whole data. Leaves them in order of name.
  Outcome check_cover(std::vector<TensorView>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
      return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
    });
    const char* at = data_.data();
    for (const TensorView& tensor : tensors) {
      if (tensor.bytes.data() != at) {
        return error("bytes before the tensor ", in_quotes(tensor.name),
                     tensor.bytes.data() > at ? " belong to no tensor" : " belong to two tensors");
      }
      at += tensor.bytes.size();
    }
    if (at != data_.data() + data_.size()) return error("bytes at the end belong to no tensor");
    std::sort(tensors.begin(), tensors.end(),
              [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
    auto twin = std::adjacent_find(tensors.begin(), tensors.end(),
                                   [](const TensorView& a, const TensorView& b) { return a.name == b.name; });
    if (twin != tensors.end()) return error("the tensor ", in_quotes(twin->name), " is there twice");
    return {};
  }

  std::string_view bytes_;
  std::string_view data_;
};

Outcome check_tensor(const TensorView& tensor) {
  if (dtype_info(tensor.dtype).safetensors.empty()) {
    return error("the tensor ", in_quotes(tensor.name), " has dtype ", dtype_name(tensor.dtype),
                 ", which safetensors does not have");
  }
  auto count = element_count(tensor.shape);
  auto size = count ? bytes_of(tensor.dtype, *count) : std::nullopt;
  if (!size || uint64_t(*size) != tensor.bytes.size()) {
    return error("the tensor ", in_quotes(tensor.name), " has ", tensor.bytes.size(),
                 " bytes, which do not fit its shape");
  }
  if (!is_printable_name(tensor.name) || tensor.name == metadata_key) {
    return error("a tensor may not be named ", in_quotes(tensor.name));
  }
  return {};
}

}  // namespace

Result<SafetensorsView> SafetensorsView::open(std::string_view bytes) {
  SafetensorsView view;
  if (Outcome read = SafetensorsReader(bytes).read(view.tensors_); !read) {
    return error("safetensors: ", read.error().text);
  }
  return view;
}

Result<std::map<std::string, std::string>> safetensors_metadata(std::string_view bytes) {
  std::string_view header;
  std::map<std::string, std::string> metadata;
  Outcome read = SafetensorsReader(bytes).find_header(header);
  if (read) read = read_safetensors_header(header, [](const HeaderTensor&) { return std::string(); }, &metadata);
  if (!read) return error("safetensors: ", read.error().text);
  return metadata;
}

const TensorView* SafetensorsView::find(std::string_view name) const {
  auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorView& tensor, std::string_view key) { return tensor.name < key; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

Result<std::string> write_safetensors(std::vector<TensorView> tensors,
                                      const std::map<std::string, std::string>& metadata) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorView& a, const TensorView& b) {
    return std::pair(-dtype_bits(a.dtype), std::string_view(a.name)) <
           std::pair(-dtype_bits(b.dtype), std::string_view(b.name));
  });
  Json header = Json::object();
  if (!metadata.empty()) header[std::string(metadata_key)] = metadata;
  uint64_t at = 0;
  for (const TensorView& tensor : tensors) {
    if (Outcome checked = check_tensor(tensor); !checked) return checked.error();
    if (header.contains(tensor.name)) {
      return error("the tensor ", in_quotes(tensor.name), " is there twice");
    }
    header[tensor.name] = {{"dtype", dtype_info(tensor.dtype).safetensors},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  std::string text = header.compact();
  text.append((data_alignment - (8 + text.size()) % data_alignment) % data_alignment, ' ');
  std::string out;
  out.reserve(8 + text.size() + at);
  put_u64(out, text.size());
  out += text;
  for (const TensorView& tensor : tensors) out += tensor.bytes;
  return out;
}

}  // namespace tessera::format
