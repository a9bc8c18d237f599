// Tensors of other libraries: DLPack's managed tensors in and out, and copies between strides.

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <thread>

#include "runtime/core/tensor.h"
#include "unit/runtime/cuda_sample.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;

namespace {

/// A managed tensor of another library over the memory of a test, which counts how often it is deleted.
template <typename Managed>
struct Theirs {
  Theirs(void* data, std::vector<int64_t> extents, std::vector<int64_t> steps = {}) {
    shape = std::move(extents);
    strides = std::move(steps);
    managed.manager = this;
    managed.deleter = [](Managed* self) { ++static_cast<Theirs*>(self->manager)->deleted; };
    int64_t* steps_or_none = strides.empty() ? nullptr : strides.data();
    managed.tensor = {data, {1, 0}, int32_t(shape.size()), {2, 32, 1}, shape.data(), steps_or_none, 0};
    if constexpr (std::is_same_v<Managed, tsr_managed_tensor_versioned_t>) managed.major = 1;
  }
  Theirs(const Theirs&) = delete;
  Theirs& operator=(const Theirs&) = delete;

  std::vector<int64_t> shape, strides;
  Managed managed{};
  int deleted = 0;
};
using Legacy = Theirs<tsr_managed_tensor_t>;
using Versioned = Theirs<tsr_managed_tensor_versioned_t>;

tsr_status_t take(tsr_context_t context, Legacy& theirs, uint32_t flags, tsr_tensor_t** tensor) {
  tsr_import_options_t options{sizeof options, flags, 0};
  return tsrTensorFromDLPack(context, nullptr, &theirs.managed, &options, tensor);
}
tsr_status_t take(tsr_context_t context, Versioned& theirs, uint32_t flags, tsr_tensor_t** tensor) {
  tsr_import_options_t options{sizeof options, flags, 0};
  return tsrTensorFromDLPackVersioned(context, nullptr, &theirs.managed, &options, tensor);
}

struct Numbers {
  explicit Numbers(int64_t count) : tensor({count}) { std::iota(begin(), begin() + count, 0.0f); }
  float* begin() { return tensor.floats(); }
  HostTensor tensor;
};

std::vector<float> elements(const tsr_tensor_t& tensor, size_t count) {
  auto* data = reinterpret_cast<const float*>(static_cast<const char*>(tensor.data) + tensor.byte_offset);
  return {data, data + count};
}

}  // namespace

TEST_CASE("a dense tensor of another library is used where it is", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(20);
  HostTensor y({3});
  auto check = [&](auto& theirs) {
    theirs.managed.tensor.byte_offset = 64;
    tsr_tensor_t* tensor = nullptr;
    REQUIRE(take(loaded.context, theirs, 0, &tensor) == TSR_SUCCESS);
    CHECK(tensor->data == numbers.begin());
    CHECK(tensor->byte_offset == 64);
    CHECK(tensor->shape != theirs.shape.data());
    REQUIRE(call(loaded.function("add_one"), {tensor}, {&y.tensor}) == TSR_SUCCESS);
    CHECK(y.values() == std::vector<float>{17, 18, 19});
    CHECK(theirs.deleted == 0);
    REQUIRE(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
    CHECK(theirs.deleted == 1);
    CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_EINVAL);
    CHECK(last_error() == "the tensor is not one that this context took from DLPack");
  };
  Legacy legacy(numbers.begin(), {3});
  Versioned versioned(numbers.begin(), {3}, {1});
  check(legacy);
  check(versioned);
}

TEST_CASE("a tensor that was taken ends with its context", "[runtime][dlpack]") {
  Numbers numbers(3);
  Legacy theirs(numbers.begin(), {3});
  {
    Loaded loaded(make_bundle({add_one_plan()}));
    tsr_tensor_t* tensor = nullptr;
    REQUIRE(take(loaded.context, theirs, 0, &tensor) == TSR_SUCCESS);
    tsr_tensor_t* other = nullptr;
    tsr_context_t context = nullptr;
    REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
    CHECK(tsrReleaseTensor(context, tensor) == TSR_EINVAL);
    CHECK(other == nullptr);
    tsrDestroyContext(context);
    CHECK(theirs.deleted == 0);
  }
  CHECK(theirs.deleted == 1);
}

TEST_CASE("a tensor with strides is refused by its axis, or copied", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(24);
  struct Case {
    std::vector<int64_t> shape, strides;
    const char* refused;
    std::vector<float> values;
  };
  const std::vector<Case> cases = {
      {{3}, {2}, "axis 0: the stride 2 is", {0, 2, 4}},
      {{2, 3}, {1, 2}, "axis 1: the stride 2 is", {0, 2, 4, 1, 3, 5}},
      {{2, 2, 2}, {12, 4, 1}, "axis 1: the stride 4 is", {0, 1, 4, 5, 12, 13, 16, 17}},
      {{2, 3}, {0, 1}, "axis 0: the stride 0 is", {0, 1, 2, 0, 1, 2}},
      {{4}, {-1}, "axis 0: the stride -1 is", {7, 6, 5, 4}},
  };
  for (const Case& each : cases) {
    bool is_reversed = each.strides[0] < 0;
    Versioned theirs(numbers.begin() + (is_reversed ? 7 : 0), each.shape, each.strides);
    theirs.managed.flags = TSR_DLPACK_READ_ONLY;  // which a copy is not
    tsr_tensor_t* tensor = nullptr;
    CHECK(take(loaded.context, theirs, 0, &tensor) == TSR_EINVAL);
    CHECK(last_error() == "the managed tensor, " + std::string(each.refused) +
                              " not that of a dense row-major tensor; TSR_IMPORT_COPY makes a dense copy");
    CHECK(tensor == nullptr);
    CHECK(theirs.deleted == 0);
    REQUIRE(take(loaded.context, theirs, TSR_IMPORT_COPY, &tensor) == TSR_SUCCESS);
    CHECK(tensor->strides == nullptr);
    CHECK(elements(*tensor, each.values.size()) == each.values);
    CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
    CHECK(theirs.deleted == 1);
  }
}

TEST_CASE("what is wrong with a managed tensor is said, and it stays the caller's", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(4);
  tsr_tensor_t* tensor = nullptr;
  auto refused = [&](auto& theirs, uint32_t flags = 0) {
    CHECK(take(loaded.context, theirs, flags, &tensor) == TSR_EINVAL);
    CHECK(theirs.deleted == 0);
    return last_error();
  };
  Versioned later(numbers.begin(), {4});
  later.managed.major = 2;
  CHECK(refused(later) == "the managed tensor is of DLPack 2.0; this library reads 1.x");
  Versioned read_only(numbers.begin(), {4});
  read_only.managed.flags = TSR_DLPACK_READ_ONLY;
  CHECK(refused(read_only) ==
        "the managed tensor is read-only; TSR_IMPORT_READ_ONLY says that it is not written, and TSR_IMPORT_COPY copies "
        "it");
  REQUIRE(take(loaded.context, read_only, TSR_IMPORT_READ_ONLY, &tensor) == TSR_SUCCESS);
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  Legacy other_device(numbers.begin(), {4});
  other_device.managed.tensor.device = {2, 3};
  CHECK(refused(other_device) ==
        "the managed tensor: it is in memory of DLPack device type 2, number 3, and calls on cpu cannot use it there");
  CHECK(refused(other_device, TSR_IMPORT_COPY) ==
        "the source: memory of DLPack device type 2, number 3 cannot be copied by cpu");
  Legacy no_data(nullptr, {4});
  CHECK(refused(no_data) == "the managed tensor: its data is NULL");
  Legacy negative(numbers.begin(), {-4});
  CHECK(refused(negative) == "the managed tensor, axis 0: the extent -4 is negative");
  Legacy bits(numbers.begin(), {4});
  bits.managed.tensor.dtype = {1, 4, 1};
  CHECK(refused(bits) == "the managed tensor: elements of 4 bits and 1 lanes are not whole bytes each");
  Legacy huge(numbers.begin(), {int64_t(1) << 40, int64_t(1) << 40});
  CHECK(refused(huge) == "the managed tensor, axis 1: it has more bytes than an address can count");
  Legacy far(numbers.begin(), {2, 2}, {INT64_MAX / 2, 1});
  CHECK(refused(far, TSR_IMPORT_COPY) ==
        "the source, axis 0: the stride " + std::to_string(INT64_MAX / 2) + " leads too far");
  CHECK(refused(far, 4) == "the flags 4 are other than TSR_IMPORT_READ_ONLY and TSR_IMPORT_COPY");
}

TEST_CASE("tensors of every dtype go in and out", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  for (int i = 0; i < tessera::format::dtype_count; ++i) {
    auto dtype = Dtype(i);
    if (tessera::format::dtype_info(dtype).bits < 8) continue;
    HostTensor values({5}, dtype);
    std::memset(values.tensor.data, i + 1, 5 * values.tensor.dtype.bits / 8);
    Legacy theirs(values.tensor.data, {5});
    theirs.managed.tensor.dtype = values.tensor.dtype;
    tsr_tensor_t* tensor = nullptr;
    REQUIRE(take(loaded.context, theirs, 0, &tensor) == TSR_SUCCESS);
    tsr_export_options_t options{sizeof options, TSR_DLPACK_READ_ONLY, 0, [](void*) {}, nullptr};
    tsr_managed_tensor_versioned_t* managed = nullptr;
    REQUIRE(tsrTensorToDLPackVersioned(loaded.context, tensor, &options, &managed) == TSR_SUCCESS);
    CHECK(managed->major == 1);
    CHECK(managed->flags == TSR_DLPACK_READ_ONLY);
    CHECK(std::memcmp(&managed->tensor.dtype, &values.tensor.dtype, sizeof(tsr_dtype_t)) == 0);
    CHECK(managed->tensor.data == values.tensor.data);
    CHECK(managed->tensor.strides[0] == 1);
    managed->deleter(managed);
    CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  }
}

TEST_CASE("memory of tsrAlloc goes to another library, and outlives the context", "[runtime][dlpack]") {
  tsr_context_t context = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  void* data = nullptr;
  REQUIRE(tsrAlloc(context, 24, TSR_DEVICE, &data) == TSR_SUCCESS);
  float* floats = static_cast<float*>(data);
  std::iota(floats, floats + 6, 1.0f);
  int64_t shape[] = {2, 3};
  tsr_tensor_t tensor{data, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  tsr_managed_tensor_t* managed = nullptr;
  REQUIRE(tsrTensorToDLPack(context, &tensor, nullptr, &managed) == TSR_SUCCESS);
  CHECK(tsrFree(context, data) == TSR_EINVAL);  // it belongs to the managed tensor
  tsr_managed_tensor_t* again = nullptr;
  CHECK(tsrTensorToDLPack(context, &tensor, nullptr, &again) == TSR_EINVAL);
  CHECK(last_error().find("the tensor's data is not what tsrAlloc gave for this context") == 0);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
  shape[0] = shape[1] = 0;
  CHECK(managed->tensor.shape[1] == 3);
  CHECK(managed->tensor.strides[0] == 3);
  CHECK(elements(managed->tensor, 6) == std::vector<float>{1, 2, 3, 4, 5, 6});
  std::thread([&] { managed->deleter(managed); }).join();
}

TEST_CASE("what is exported with a release function is released once", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  HostTensor x({2}, {1, 2});
  int released = 0;
  tsr_export_options_t options{sizeof options, 0, 0, [](void* count) { ++*static_cast<int*>(count); }, &released};
  tsr_managed_tensor_t* managed = nullptr;
  REQUIRE(tsrTensorToDLPack(loaded.context, &x.tensor, &options, &managed) == TSR_SUCCESS);
  CHECK(released == 0);
  managed->deleter(managed);
  CHECK(released == 1);
  options.flags = TSR_DLPACK_READ_ONLY;
  CHECK(tsrTensorToDLPack(loaded.context, &x.tensor, &options, &managed) == TSR_EINVAL);
  CHECK(last_error() == "a managed tensor without a version has no flags; the other kind has");
}

TEST_CASE("tensors are copied between strides", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(12);
  HostTensor to({12});
  std::fill_n(to.floats(), 12, -1.0f);
  int64_t shape[] = {2, 3}, columns[] = {1, 2}, apart[] = {6, 2};
  tsr_tensor_t from{numbers.begin(), {1, 0}, 2, {2, 32, 1}, shape, columns, 0};
  tsr_tensor_t target{to.floats(), {1, 0}, 2, {2, 32, 1}, shape, apart, 4};
  REQUIRE(tsrCopyTensor(loaded.context, nullptr, &target, &from) == TSR_SUCCESS);
  CHECK(to.values() == std::vector<float>{-1, 0, -1, 2, -1, 4, -1, 1, -1, 3, -1, 5});
  auto refused = [&](const tsr_tensor_t& a, const tsr_tensor_t& b) {
    CHECK(tsrCopyTensor(loaded.context, nullptr, &a, &b) == TSR_EINVAL);
    return last_error();
  };
  int64_t none[] = {0, 1};
  tsr_tensor_t broadcast = target;
  broadcast.strides = none;
  CHECK(refused(broadcast, from) ==
        "the target, axis 0: with the stride 0 some elements may share memory, and they are written");
  CHECK(refused(from, from) == "the target may overlap the source: one begins before the other ends");
  tsr_tensor_t row = from;
  row.ndim = 1;
  CHECK(refused(target, row) == "the target has rank 2, and the source 1");
  int64_t wide[] = {2, 4};
  tsr_tensor_t wider = from;
  wider.shape = wide;
  CHECK(refused(target, wider) == "the target, axis 1: expected 4, as the source has, got 3");
  tsr_tensor_t integers = from;
  integers.dtype.code = 0;
  CHECK(refused(target, integers) == "the target has another dtype than the source");
  CHECK(tsrCopyTensor(loaded.context, nullptr, nullptr, &from) == TSR_EINVAL);
  CHECK(last_error() == "the target is NULL");
}

TEST_CASE("a tensor of the host is copied to a GPU, and one with gaps in pieces", "[cuda][dlpack]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  Numbers numbers(20000);
  tsr_tensor_t* tensor = nullptr;
  Legacy dense(numbers.begin(), {3});
  CHECK(take(loaded.context, dense, 0, &tensor) == TSR_EINVAL);
  CHECK(last_error() ==
        "the managed tensor: it is in memory of DLPack device type 1, number 0, and calls on cuda:0 cannot use it "
        "there; TSR_IMPORT_COPY copies it");
  Legacy apart(numbers.begin(), {3}, {2});
  CudaTensor y(loaded.context, {3});
  for (Legacy* theirs : {&dense, &apart}) {
    REQUIRE(take(loaded.context, *theirs, TSR_IMPORT_COPY, &tensor) == TSR_SUCCESS);
    CHECK(tensor->device.device_type == 2);
    REQUIRE(call(loaded.function("add_one"), {tensor}, {&y.tensor}) == TSR_SUCCESS);
    CHECK(y.values() == (theirs == &dense ? std::vector<float>{1, 2, 3} : std::vector<float>{1, 3, 5}));
    CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  }
  Legacy many(numbers.begin(), {5000}, {2});
  CHECK(take(loaded.context, many, TSR_IMPORT_COPY, &tensor) == TSR_EINVAL);
  CHECK(last_error() ==
        "the source, axis 0: with the stride 2 the copy falls into 5000 pieces; on a GPU the most is 4096");
}

TEST_CASE("a release function may use the library", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  tsr_context_t other = nullptr;
  REQUIRE(tsrCreateContext(&other) == TSR_SUCCESS);
  struct Own {
    tsr_context_t context;
    void* memory = nullptr;
    tsr_status_t freed = TSR_EINTERNAL, destroyed = TSR_EINTERNAL;
    static void release(void* user) {
      auto& own = *static_cast<Own*>(user);
      own.freed = tsrFree(own.context, own.memory);
      own.destroyed = tsrDestroyContext(own.context);
    }
  } own{other, nullptr, TSR_EINTERNAL, TSR_EINTERNAL};
  REQUIRE(tsrAlloc(other, 12, TSR_HOST, &own.memory) == TSR_SUCCESS);
  int64_t shape[] = {3};
  tsr_tensor_t tensor{own.memory, {1, 0}, 1, {2, 32, 1}, shape, nullptr, 0}, *taken = nullptr;
  tsr_export_options_t options{sizeof options, 0, 0, Own::release, &own};
  tsr_managed_tensor_t* managed = nullptr;
  REQUIRE(tsrTensorToDLPack(other, &tensor, &options, &managed) == TSR_SUCCESS);
  REQUIRE(tsrTensorFromDLPack(loaded.context, nullptr, managed, nullptr, &taken) == TSR_SUCCESS);
  CHECK(tsrReleaseTensor(loaded.context, taken) == TSR_SUCCESS);
  CHECK(own.freed == TSR_SUCCESS);
  CHECK(own.destroyed == TSR_SUCCESS);
}

TEST_CASE("what is exported lies in the memory that it takes along", "[runtime][dlpack]") {
  tsr_context_t context = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  void* data = nullptr;
  REQUIRE(tsrAlloc(context, 64, TSR_DEVICE, &data) == TSR_SUCCESS);
  tsr_managed_tensor_t* managed = nullptr;
  int64_t shape[] = {2, 4}, forth[] = {8, 1}, back[] = {-4, 1}, far[] = {12, 1};
  tsr_tensor_t tensor{data, {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  auto status_of = [&](int64_t* strides, uint64_t offset, tsr_device_t device = {1, 0}) {
    tensor.strides = strides;
    tensor.byte_offset = offset;
    tensor.device = device;
    return tsrTensorToDLPack(context, &tensor, nullptr, &managed);
  };
  CHECK(status_of(far, 4) == TSR_EINVAL);
  CHECK(last_error() ==
        "the tensor reaches out of the 64 bytes of its memory: its first element is at byte 4, and the elements "
        "take up 0 bytes before and 64 from there on");
  CHECK(status_of(nullptr, 36) == TSR_EINVAL);
  CHECK(status_of(nullptr, 65) == TSR_EINVAL);
  CHECK(status_of(nullptr, UINT64_MAX - 3) == TSR_EINVAL);
  CHECK(last_error() == "the tensor: the byte offset 18446744073709551612 leads out of what can be addressed");
  CHECK(status_of(back, 12) == TSR_EINVAL);
  CHECK(status_of(forth, 16, {2, 0}) == TSR_EINVAL);
  CHECK(last_error() == "the tensor says that it is in memory of DLPack device type 2, number 0; its data is not");
  shape[0] = 200;
  CHECK(status_of(nullptr, 0) == TSR_EINVAL);
  shape[0] = 2;
  REQUIRE(status_of(back, 16) == TSR_SUCCESS);  // and nothing that was refused took the memory
  managed->deleter(managed);
  int64_t none[] = {0, int64_t(1) << 40, int64_t(1) << 40};
  tensor = {nullptr, {1, 0}, 3, {2, 32, 1}, none, nullptr, 0};
  REQUIRE(tsrTensorToDLPack(context, &tensor, nullptr, &managed) == TSR_SUCCESS);
  CHECK(managed->tensor.data == nullptr);
  managed->deleter(managed);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}

TEST_CASE("what calls refuse is copied where the program allows it", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(4);
  Versioned read_only(numbers.begin(), {4});
  read_only.managed.flags = TSR_DLPACK_READ_ONLY;
  tsr_tensor_t* tensor = nullptr;
  REQUIRE(take(loaded.context, read_only, TSR_IMPORT_COPY, &tensor) == TSR_SUCCESS);
  CHECK(tensor->data != numbers.begin());
  CHECK(elements(*tensor, 4) == std::vector<float>{0, 1, 2, 3});
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  Versioned only_read(numbers.begin(), {4});
  only_read.managed.flags = TSR_DLPACK_READ_ONLY;
  REQUIRE(take(loaded.context, only_read, TSR_IMPORT_COPY | TSR_IMPORT_READ_ONLY, &tensor) == TSR_SUCCESS);
  CHECK(tensor->data == numbers.begin());
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  Legacy apart(reinterpret_cast<char*>(numbers.begin()) + 2, {2});
  CHECK(take(loaded.context, apart, 0, &tensor) == TSR_EINVAL);
  CHECK(last_error() == "the managed tensor: its data is not at a multiple of 4 bytes; TSR_IMPORT_COPY copies it");
}

TEST_CASE("a GPU takes aligned tensors and numbers of the host, and copies others", "[cuda][dlpack]") {
  FakeGpu gpu;
  CudaLoaded loaded(CudaBundle{{add_one_plan()}}.bytes());
  CudaTensor x(loaded.context, {8}, {0, 1, 2, 3, 4, 5, 6, 7}), y(loaded.context, {3});
  tsr_tensor_t* tensor = nullptr;
  Legacy shifted(x.tensor.data, {3});
  shifted.managed.tensor.device = x.tensor.device;
  shifted.managed.tensor.byte_offset = 4;
  CHECK(take(loaded.context, shifted, 0, &tensor) == TSR_EINVAL);
  CHECK(last_error() == "the managed tensor: its data is not at a multiple of 16 bytes; TSR_IMPORT_COPY copies it");
  REQUIRE(take(loaded.context, shifted, TSR_IMPORT_COPY, &tensor) == TSR_SUCCESS);
  REQUIRE(call(loaded.function("add_one"), {tensor}, {&y.tensor}) == TSR_SUCCESS);
  CHECK(y.values() == std::vector<float>{2, 3, 4});
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  float number = 5;
  Legacy scalar(&number, {}), copied(&number, {});
  REQUIRE(take(loaded.context, scalar, 0, &tensor) == TSR_SUCCESS);
  CHECK(tensor->data == &number);
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
  REQUIRE(take(loaded.context, copied, TSR_IMPORT_COPY, &tensor) == TSR_SUCCESS);
  CHECK(tensor->device.device_type == 2);
  CHECK(tsrReleaseTensor(loaded.context, tensor) == TSR_SUCCESS);
}

TEST_CASE("a managed tensor is taken once, and has a dtype", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  Numbers numbers(4);
  Legacy theirs(numbers.begin(), {4}), strange(numbers.begin(), {4});
  tsr_tensor_t *first = nullptr, *second = nullptr;
  REQUIRE(take(loaded.context, theirs, 0, &first) == TSR_SUCCESS);
  CHECK(take(loaded.context, theirs, 0, &second) == TSR_EINVAL);
  CHECK(last_error() == "the managed tensor has been taken and not released yet; it has one owner");
  strange.managed.tensor.dtype = {5, 32, 1};
  CHECK(take(loaded.context, strange, 0, &second) == TSR_EINVAL);
  CHECK(last_error() == "the managed tensor: nothing has its dtype, DLPack type code 5 of 32 bits");
  CHECK(tsrReleaseTensor(loaded.context, first) == TSR_SUCCESS);
}

TEST_CASE("offsets and strides at the end of what can be counted are refused", "[runtime][dlpack]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  HostTensor x({3}, {1, 2, 3}), y({3});
  x.tensor.byte_offset = UINT64_MAX - 3;
  CHECK(call(loaded.function("add_one"), {&x.tensor}, {&y.tensor}) == TSR_EINVAL);
  CHECK(last_error() == "add_one: input 'x': the byte offset 18446744073709551612 leads out of what can be addressed");
  CHECK(tsrCopyTensor(loaded.context, nullptr, &y.tensor, &x.tensor) == TSR_EINVAL);
  int64_t shape[] = {2}, least[] = {INT64_MIN};
  char bytes[2] = {};
  tsr_tensor_t from{bytes, {1, 0}, 1, {0, 8, 1}, shape, nullptr, 0}, to{bytes, {1, 0}, 1, {0, 8, 1}, shape, least, 0};
  CHECK(tsrCopyTensor(loaded.context, nullptr, &to, &from) == TSR_EINVAL);
  CHECK(last_error() == "the target: its strides lead out of what can be addressed");
}
