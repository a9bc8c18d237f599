// safetensors and npy: what is written is read back, and what is broken is named.

#include <catch2/catch.hpp>

#include "runtime/files/bytes.h"
#include "runtime/files/npy.h"
#include "runtime/files/safetensors.h"

using namespace tessera::format;

namespace {

std::string file_with_header(const std::string& header, const std::string& data) {
  std::string out;
  put_u64(out, header.size());
  return out + header + data;
}

std::string why_not(const std::string& header, const std::string& data) {
  auto view = SafetensorsView::open(file_with_header(header, data));
  return view ? "" : view.error().text;
}

std::string npy_file(const std::string& header, const std::string& data, char version = 1) {
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  if (version == 1) put_u16(out, uint16_t(header.size()));
  if (version != 1) put_u32(out, uint32_t(header.size()));
  return out + header + data;
}

std::string npy_error(const std::string& bytes) {
  auto array = read_npy(bytes);
  return array ? "" : array.error().text;
}

}  // namespace

TEST_CASE("safetensors are read back", "[format]") {
  std::string eight(8, 'a');
  std::string two(2, 'b');
  auto bytes = write_safetensors({{"w.b", Dtype::Bf16, {1}, two},
                                  {"w.a", Dtype::F32, {2, 1}, eight},
                                  {"empty", Dtype::I64, {0, 5}, ""}},
                                 {{"made_by", "hand"}});
  REQUIRE(bytes);
  auto view = SafetensorsView::open(*bytes);
  INFO((view ? "" : view.error().text));
  REQUIRE(view);
  REQUIRE(view->tensors().size() == 3);
  CHECK(view->find("w.a")->bytes == eight);
  CHECK(view->find("w.a")->shape == std::vector<int64_t>{2, 1});
  CHECK(view->find("w.b")->dtype == Dtype::Bf16);
  CHECK(view->find("w") == nullptr);
  CHECK(size_t(view->find("w.a")->bytes.data() - bytes->data()) % 64 == 0);
  for (size_t size = 0; size < bytes->size(); ++size) {
    CHECK_FALSE(SafetensorsView::open(std::string_view(*bytes).substr(0, size)));
  }
}

TEST_CASE("broken safetensors are named", "[format]") {
  CHECK(why_not("{}", "") == "");
  CHECK(why_not("{}", "x") == "safetensors: bytes at the end belong to no tensor");
  CHECK(why_not("[]", "") == "safetensors: its header does not start with '{'");
  CHECK(why_not(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "1234") == "");
  CHECK(why_not(R"({"a":{"dtype":"F9","shape":[1],"data_offsets":[0,4]}})", "1234") ==
        "safetensors: ['a'].dtype: the dtype 'F9' is not known");
  CHECK(why_not(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234") ==
        "safetensors: ['a'].data_offsets: it does not have the size of shape and dtype");
  CHECK(why_not(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "1234") ==
        "safetensors: ['a'].data_offsets: it does not have the size of shape and dtype");
  CHECK(why_not(R"({"a":{"dtype":"U8","shape":[9],"data_offsets":[0,9]}})", "1234") ==
        "safetensors: ['a'].data_offsets: it is not a range of the data");
  CHECK(why_not(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                R"("b":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})",
                "12345") == "safetensors: bytes before the tensor 'b' belong to two tensors");
  CHECK(why_not(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})", "12345") ==
        "safetensors: bytes before the tensor 'a' belong to no tensor");
  CHECK(why_not(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                "123456") ==
        "safetensors: ['b'].data_offsets: it starts at no multiple of the element's size");
  CHECK(why_not(R"({"a":{"dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                "") != "");
  std::string huge;
  put_u64(huge, UINT64_MAX);
  CHECK(SafetensorsView::open(huge + "{}").error().text ==
        "safetensors: its header does not fit the file");
}

TEST_CASE("keys of safetensors are there once, however they are spelled", "[format]") {
  const std::string a = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  auto with = [&](const std::string& more) { return why_not("{" + a + "," + more + "}", "12"); };
  const std::string rest = R"(:{"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  CHECK(with("\"b\"" + rest) == "");
  for (const char* key : {R"("a")", R"("\u0061")"}) {
    CHECK(with(key + rest) == "safetensors: the tensor 'a' is there twice");
  }
  auto tensor = [&](const std::string& members) { return why_not("{\"a\":{" + members + "}}", "1"); };
  CHECK(tensor(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])") ==
        "safetensors: ['a'].dtype: it is there twice");
  CHECK(tensor(R"("dtype":"U8","shape":[1],"\u0073hape":[1],"data_offsets":[0,1])") ==
        "safetensors: ['a'].shape: it is there twice");
  CHECK(tensor(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"more":1)") ==
        "safetensors: ['a']: the key 'more' is not expected");
  CHECK(tensor(R"("dtype":"U8","shape":[1])") == "safetensors: ['a']: it lacks dtype, shape or data_offsets");
  CHECK(why_not(R"({"__metadata__":{"k":"","\u006b":""}})", "") == "safetensors: __metadata__: a key is there twice");
  CHECK(why_not(R"({"__metadata__":{"k":""},"__metadat\u0061__":{}})", "") ==
        "safetensors: __metadata__: it is there twice");
  CHECK(why_not(R"({"__metadata__":{"k":1}})", "") == "safetensors: __metadata__: a string is expected");
  CHECK(why_not(R"({"__metadata__":{"k":"\ud83d\ude00 \n","l":"x"}})", "") == "");
}

TEST_CASE("metadata of safetensors are read back", "[format]") {
  const std::map<std::string, std::string> metadata = {{"bundle", "a \"b\".bundle"}, {"step", "12"}, {"ü", ""}};
  auto bytes = write_safetensors({{"w", Dtype::U8, {2}, "xy"}}, metadata);
  REQUIRE(bytes);
  auto read = tessera::format::safetensors_metadata(*bytes);
  REQUIRE(read);
  CHECK(*read == metadata);
  CHECK(tessera::format::safetensors_metadata(*write_safetensors({{"w", Dtype::U8, {2}, "xy"}}))->empty());
  CHECK(tessera::format::safetensors_metadata(bytes->substr(0, 20)).error().text ==
        "safetensors: its header does not fit the file");
}

TEST_CASE("a header of safetensors is JSON to its last byte", "[format]") {
  CHECK(why_not("{}  \n", "") == "");
  for (const std::string& behind : {std::string(1, '\0'), std::string("\0{}", 3), std::string("x"),
                                    std::string("{}")}) {
    CHECK(why_not("{}" + behind, "") == "safetensors: more bytes follow its end");
  }
  CHECK(why_not(std::string("{\0}", 3), "") == "safetensors: a string is expected");
  auto name = [](const std::string& text) {
    return why_not("{\"" + text + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1");
  };
  CHECK(name("\xc3\xa4 b") == "");
  for (const char* broken : {R"(\q)", R"(\u12)", R"(\ud800)", R"(\ud800x)", R"(\udc00)"}) {
    CHECK(name(broken) == "safetensors: an escape of a string is broken");
  }
  for (const std::string& broken : {std::string("\x01"), std::string("\xff"), std::string(1, '\0')}) {
    CHECK(name(broken) == "safetensors: a string has bytes that are not text");
  }
  CHECK(name("\\u001b[31m") == "safetensors: ['\\x1b[31m']: the name is empty, too long or not printable");
  CHECK(name("a\xe2\x80\xae") == "safetensors: ['a\\u202e']: the name is empty, too long or not printable");
  for (const char* shape : {"[01]", "[1.0]", "[1e0]", "[1,]", "[", "{}", "[true]"}) {
    INFO(shape);
    CHECK(why_not(R"({"a":{"dtype":"U8","data_offsets":[0,1],"shape":)" + std::string(shape) + "}}", "1") != "");
  }
  CHECK(why_not("{", "") == "safetensors: a string is expected");
  CHECK(why_not(R"({"a")", "") == "safetensors: ':' is expected");
}

TEST_CASE("what safetensors cannot hold is not written", "[format]") {
  CHECK(write_safetensors({{"q", Dtype::I4, {2}, "x"}}).error().text ==
        "the tensor 'q' has dtype i4, which safetensors does not have");
  CHECK(write_safetensors({{"q", Dtype::U8, {2}, "x"}}).error().text ==
        "the tensor 'q' has 1 bytes, which do not fit its shape");
  CHECK_FALSE(write_safetensors({{"q", Dtype::U8, {1}, "x"}, {"q", Dtype::U8, {1}, "y"}}));
}

TEST_CASE("npy arrays of every dtype are read back", "[format]") {
  for (int i = 0; i < dtype_count; ++i) {
    Dtype dtype = Dtype(i);
    if (dtype_info(dtype).npy.empty()) continue;
    std::string data(size_t(*bytes_of(dtype, 6)), 'x');
    auto bytes = write_npy({dtype, {2, 3}, data});
    REQUIRE(bytes);
    auto array = read_npy(*bytes);
    INFO(dtype_name(dtype) << (array ? "" : array.error().text));
    REQUIRE(array);
    CHECK(dtype_bits(array->dtype) == dtype_bits(dtype));
    CHECK((array->dtype == dtype || dtype == Dtype::Tf32));
    CHECK(array->shape == std::vector<int64_t>{2, 3});
    CHECK(array->bytes == data);
    CHECK(size_t(array->bytes.data() - bytes->data()) % 64 == 0);
  }
  auto scalar = write_npy({Dtype::U8, {}, "x"});
  REQUIRE(scalar);
  CHECK(read_npy(*scalar)->shape.empty());
  auto vector = write_npy({Dtype::U8, {1}, "x"});
  CHECK(vector->find("(1,)") != std::string::npos);
  CHECK(read_npy(*vector)->shape.size() == 1);
  CHECK(write_npy({Dtype::F8E4M3, {1}, "x"}).error().text ==
        "npy: it has no code for f8e4m3; use safetensors");
}

TEST_CASE("npy headers are read as NumPy writes them", "[format]") {
  const char* header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }   \n";
  CHECK(npy_error(npy_file(header, "12345678")) == "");
  CHECK(npy_error(npy_file(header, "12345678", 2)) == "");
  CHECK(npy_error(npy_file(header, "12345678", 3)) ==
        "npy: it has version 3.0; 1.0 and 2.0 are read");
  CHECK(npy_error(npy_file(header, "1234567")) ==
        "npy: it has 7 bytes of data, which do not fit shape [1, 2] of f32");
  CHECK(npy_error(npy_file("{'shape': (), 'descr': '|b1', 'fortran_order': False}", "1")) == "");
  CHECK(npy_error(npy_file("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234")) ==
        "npy: its numbers are big-endian (>f4); save the array with .astype('<f4')");
  CHECK(npy_error(npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "1234")) ==
        "npy: it is in Fortran order; save the array with numpy.ascontiguousarray");
  CHECK(npy_error(npy_file("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
                           "12345678")) == "npy: the dtype '<c8' is not known");
  CHECK(npy_error(npy_file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
                           "1234")) == "npy: structured arrays are not read");
  CHECK(npy_error(npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "")) ==
        "npy: an extent is not a number");
  CHECK(npy_error(npy_file("{'descr': '<f4', 'descr': '<f4'}", "")) ==
        "npy: the header's key 'descr' is not expected");
  CHECK(npy_error(npy_file("{'descr': '<f4'}", "")) ==
        "npy: the header lacks descr, fortran_order or shape");
  CHECK(npy_error("PK") == "npy: it does not start as an .npy file does");
}
