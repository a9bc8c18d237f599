#include "runtime/format/safetensors.h"

#include <algorithm>

#include "runtime/format/bytes.h"
#include "runtime/format/json_cursor.h"

namespace tessera::format {

namespace {

constexpr size_t max_rank = 32;
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

  Outcome read(std::vector<TensorView>& tensors, std::map<std::string, std::string>& metadata) {
    ByteReader in(bytes_);
    uint64_t header_size = in.u64();
    std::string_view header = in.raw(header_size);
    if (in.failed() || header.empty()) return error("its header does not fit the file");
    if (header[0] != '{') return error("its header does not start with '{'");
    Result<Json> json = parse_json(header);
    if (!json) return error("its header: ", json.error().text);
    data_at_ = in.position();
    data_ = bytes_.substr(data_at_);
    JsonCursor(*json, error_).each_member([&](const std::string& name, JsonCursor value) {
      if (name == metadata_key) {
        value.each_member(
            [&](const std::string& key, JsonCursor text) { metadata[key] = text.text(); });
      } else {
        tensors.push_back(read_tensor(name, value));
      }
    });
    if (error_.empty()) check_cover(tensors);
    if (!error_.empty()) return error(error_);
    return {};
  }

 private:
  TensorView read_tensor(const std::string& name, JsonCursor in) {
    TensorView tensor;
    tensor.name = name;
    if (!is_printable_name(name)) in.refuse("the name is empty, too long or not printable");
    std::string code = in["dtype"].text();
    auto dtype = find_code(code);
    if (!dtype) in["dtype"].refuse(cat("the dtype ", in_quotes(code), " is not known"));
    tensor.dtype = dtype.value_or(Dtype::F32);
    tensor.shape = in["shape"].integers();
    if (tensor.shape.size() > max_rank) in["shape"].refuse("the rank is too large");
    std::vector<int64_t> range = in["data_offsets"].integers();
    if (range.size() != 2 || range[0] < 0 || range[1] < range[0] ||
        uint64_t(range[1]) > data_.size()) {
      in["data_offsets"].refuse("it is no range of the data");
      return tensor;
    }
    auto count = element_count(tensor.shape);
    auto size = count ? bytes_of(tensor.dtype, *count) : std::nullopt;
    if (!size || *size != range[1] - range[0]) {
      in["data_offsets"].refuse("it does not have the size of shape and dtype");
      return tensor;
    }
    if (size_t(range[0]) % size_t(dtype_bits(tensor.dtype) / 8) != 0) {
      in["data_offsets"].refuse("it starts at no multiple of the element's size");
    }
    tensor.bytes = data_.substr(size_t(range[0]), size_t(*size));
    return tensor;
  }

  /// The tensors, one after another, are the whole data.
  void check_cover(const std::vector<TensorView>& tensors) {
    std::vector<const TensorView*> in_order;
    for (const TensorView& tensor : tensors) in_order.push_back(&tensor);
    std::sort(in_order.begin(), in_order.end(), [](const TensorView* a, const TensorView* b) {
      return std::pair(a->bytes.data(), a->bytes.size()) <
             std::pair(b->bytes.data(), b->bytes.size());
    });
    const char* at = data_.data();
    for (const TensorView* tensor : in_order) {
      if (tensor->bytes.data() != at) {
        error_ = cat("bytes before the tensor ", in_quotes(tensor->name),
                     tensor->bytes.data() > at ? " belong to no tensor" : " belong to two tensors");
        return;
      }
      at += tensor->bytes.size();
    }
    if (at != data_.data() + data_.size()) error_ = "bytes at the end belong to no tensor";
  }

  std::string_view bytes_;
  std::string_view data_;
  size_t data_at_ = 0;
  std::string error_;
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
  if (Outcome read = SafetensorsReader(bytes).read(view.tensors_, view.metadata_); !read) {
    return error("safetensors: ", read.error().text);
  }
  return view;
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
