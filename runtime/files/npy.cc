#include "runtime/files/npy.h"

#include <charconv>

#include "runtime/files/bytes.h"
#include "runtime/files/text.h"

namespace tessera::format {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr size_t max_header = 65536;
constexpr size_t max_npy_rank = 32;
constexpr size_t npy_data_alignment = 64;

/// Reads the header, which is a Python dict literal with three keys in any order.
class NpyHeaderParser {
 public:
  explicit NpyHeaderParser(std::string_view text) : text_(text) {}

  Outcome parse() {
    expect('{');
    while (error_.empty() && !take('}')) {
      parse_member();
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (error_.empty() && at_ != text_.size()) refuse("more text follows the header's dict");
    if (error_.empty() && seen_ != 7) refuse("the header lacks descr, fortran_order or shape");
    if (!error_.empty()) return error(error_);
    return {};
  }

  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;

 private:
  void refuse(std::string_view why) {
    if (error_.empty()) error_ = why;
    at_ = text_.size();
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool take(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (!take(c)) refuse(cat("the header lacks '", c, "'"));
  }

  std::string parse_string() {
    skip_spaces();
    char quote = at_ < text_.size() ? text_[at_] : '\0';
    size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : text_.npos;
    if (end == text_.npos) {
      refuse("the header lacks a string");
      return "";
    }
    std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  void parse_member() {
    std::string key = parse_string();
    expect(':');
    if (!error_.empty()) return;
    int bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : key == "shape" ? 4 : 0;
    if (bit == 0 || (seen_ & bit) != 0) {
      return refuse(cat("the header's key ", in_quotes(key), " is not expected"));
    }
    seen_ |= bit;
    if (bit == 1) parse_descr();
    if (bit == 2) parse_order();
    if (bit == 4) parse_shape();
  }

  void parse_descr() {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '[') return refuse("structured arrays are not read");
    descr = parse_string();
  }

  void parse_order() {
    skip_spaces();
    std::string_view rest = text_.substr(at_);
    fortran_order = rest.starts_with("True");
    if (!fortran_order && !rest.starts_with("False")) return refuse("fortran_order is not a bool");
    at_ += fortran_order ? 4 : 5;
  }

  void parse_shape() {
    expect('(');
    while (error_.empty() && !take(')')) {
      skip_spaces();
      int64_t extent = -1;
      auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (status != std::errc() || extent < 0) return refuse("an extent is not a number");
      at_ = size_t(end - text_.data());
      shape.push_back(extent);
      if (shape.size() > max_npy_rank) return refuse("the rank is too large");
      if (!take(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int seen_ = 0;
  std::string error_;
};

Result<Dtype> dtype_of_descr(std::string_view descr) {
  if (descr.size() < 3) return error("the dtype ", in_quotes(descr), " is not known");
  char order = descr[0];
  std::string_view code = descr.substr(1);
  for (int i = 0; i < dtype_count; ++i) {
    if (dtype_table[i].npy != code) continue;
    if (order == '>') {
      return error("its numbers are big-endian (", descr, "); save the array with .astype('<", code,
                   "')");
    }
    bool order_fits = order == '<' || (order == '|' && (code[1] == '1' || code == "V2"));
    if (order_fits) return Dtype(i);
  }
  return error("the dtype ", in_quotes(descr), " is not known");
}

Result<NpyView> read_body(std::string_view header, std::string_view body) {
  NpyHeaderParser parser(header);
  if (Outcome parsed = parser.parse(); !parsed) return parsed.error();
  Result<Dtype> dtype = dtype_of_descr(parser.descr);
  if (!dtype) return dtype.error();
  if (parser.fortran_order) {
    return error("it is in Fortran order; save the array with numpy.ascontiguousarray");
  }
  auto count = element_count(parser.shape);
  auto size = count ? bytes_of(*dtype, *count) : std::nullopt;
  if (!size || uint64_t(*size) != body.size()) {
    return error("it has ", body.size(), " bytes of data, which do not fit shape ",
                 shape_text(parser.shape), " of ", dtype_name(*dtype));
  }
  return NpyView{*dtype, std::move(parser.shape), body};
}

std::string header_text(const NpyView& array) {
  std::string_view code = dtype_info(array.dtype).npy;
  std::string shape;
  for (int64_t extent : array.shape) shape += cat(shape.empty() ? "" : ", ", extent);
  if (array.shape.size() == 1) shape += ",";
  char order = code[1] == '1' ? '|' : '<';
  return cat("{'descr': '", order, code, "', 'fortran_order': False, 'shape': (", shape, "), }");
}

}  // namespace

Result<NpyView> read_npy(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.raw(magic.size()) != magic) return error("npy: it does not start as an .npy file does");
  uint8_t major = in.u8();
  uint8_t minor = in.u8();
  if ((major != 1 && major != 2) || minor != 0) {
    return error("npy: it has version ", int(major), ".", int(minor), "; 1.0 and 2.0 are read");
  }
  uint32_t size = major == 1 ? in.u16() : in.u32();
  if (size > max_header) return error("npy: its header has ", size, " bytes");
  std::string_view header = in.raw(size);
  if (in.failed()) return error("npy: it ends inside its header");
  Result<NpyView> array = read_body(header, in.raw(in.remaining()));
  if (!array) return error("npy: ", array.error().text);
  return array;
}

Result<std::string> write_npy(const NpyView& array) {
  if (dtype_info(array.dtype).npy.empty()) {
    return error("npy: it has no code for ", dtype_name(array.dtype), "; use safetensors");
  }
  auto count = element_count(array.shape);
  auto size = count ? bytes_of(array.dtype, *count) : std::nullopt;
  if (!size || uint64_t(*size) != array.bytes.size() || array.shape.size() > max_npy_rank) {
    return error("npy: ", array.bytes.size(), " bytes do not fit shape ", shape_text(array.shape));
  }
  // 32 extents of 20 characters stay far below the 65535 of version 1.
  std::string header = header_text(array);
  size_t start = magic.size() + 4 + header.size() + 1;
  header.append((npy_data_alignment - start % npy_data_alignment) % npy_data_alignment, ' ');
  header += '\n';
  std::string out(magic);
  put_u8(out, 1);
  put_u8(out, 0);
  put_u16(out, uint16_t(header.size()));
  out += header;
  out += array.bytes;
  return out;
}

}  // namespace tessera::format
