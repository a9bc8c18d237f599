// Structs that begin with their size, and what version 2 of the interface says about all functions.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "runtime/api/sized.h"
#include "unit/runtime/allocations.h"
#include "unit/runtime/cuda_sample.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;

namespace {

/// As a later version of the library would have it: version 2.0 had 16 bytes.
struct Grown {
  size_t size;
  uint64_t first;
  uint64_t second;
};

}  // namespace

template <>
struct tessera::runtime::SizedFacts<Grown> {
  static constexpr const char* name = "grown_t";
  static constexpr size_t least = 16;
};

namespace {

/// Calls with a struct of other sizes; `call` takes it.
template <typename Struct, typename Call>
void check_sizes(const char* name, Call call) {
  INFO(name);
  struct {
    Struct known;
    char more[64];
  } given{};
  auto with_size = [&](size_t size) {
    given.known.size = size;
    return call(&given.known);
  };
  CHECK(with_size(sizeof(Struct)) == TSR_SUCCESS);
  CHECK(with_size(sizeof given) == TSR_SUCCESS);
  for (size_t size : {size_t(0), sizeof(size_t), sizeof(Struct) - 1, size_t(1) << 40, SIZE_MAX}) {
    CHECK(with_size(size) == TSR_EINVAL);
    std::string words = std::string(name) + ": its size is " + std::to_string(size) + ", which no version of it has";
    CHECK(last_error().find(words) == 0);
  }
}

/// Options may also be larger, where what the library does not know is 0.
template <typename Struct, typename Call>
void check_options(const char* name, Call call) {
  CHECK(call(nullptr) == TSR_SUCCESS);
  check_sizes<Struct>(name, call);
  struct {
    Struct known;
    char more[64];
  } given{};
  given.known.size = sizeof given;
  given.more[3] = 1;
  CHECK(call(&given.known) == TSR_EINVAL);
  CHECK(last_error() == std::string(name) + ": byte " + std::to_string(sizeof(Struct) + 3) + " of " +
                            std::to_string(sizeof given) + " is set, and this library, of ABI 2.0, knows " +
                            std::to_string(sizeof(Struct)) + " of them");
}

}  // namespace

TEST_CASE("structs of a program are read as far as their size goes", "[runtime][abi]") {
  using tessera::runtime::read_sized;
  Grown taken{};
  Grown old{16, 7, 8};
  REQUIRE(!read_sized(&old, taken).failed());
  CHECK(taken.first == 7);
  CHECK(taken.second == 0);
  Grown now{24, 7, 8};
  REQUIRE(!read_sized(&now, taken).failed());
  CHECK(taken.second == 8);
  REQUIRE(!read_sized<Grown>(nullptr, taken).failed());
  CHECK(taken.first == 0);
}

TEST_CASE("structs of a program are written as far as their size goes", "[runtime][abi]") {
  using tessera::runtime::write_sized;
  struct {
    Grown known;
    uint64_t later;
  } place{{16, 1, 2}, 3};
  REQUIRE(!write_sized(&place.known, Grown{24, 7, 8}).failed());
  CHECK(place.known.size == 16);
  CHECK(place.known.first == 7);
  CHECK(place.known.second == 2);
  place.known.size = sizeof place;
  REQUIRE(!write_sized(&place.known, Grown{24, 7, 8}).failed());
  CHECK(place.known.size == sizeof place);
  CHECK(place.known.second == 8);
  CHECK(place.later == 0);
  CHECK(write_sized<Grown>(nullptr, {}).text == "the place for grown_t is NULL");
}

TEST_CASE("a struct of another size is refused by its name", "[runtime][abi]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  tsr_context_t context = loaded.context;
  tsr_function_t function = loaded.function("add_one");
  check_options<tsr_context_options_t>("tsr_context_options_t", [](const tsr_context_options_t* options) {
    tsr_context_t made = nullptr;
    tsr_status_t status = tsrCreateContextWith(options, &made);
    tsrDestroyContext(made);
    return status;
  });
  std::string bundle = make_bundle({add_one_plan()});
  check_options<tsr_module_options_t>("tsr_module_options_t", [&](const tsr_module_options_t* options) {
    tsr_module_t module = nullptr;
    return tsrLoadModuleWith(context, bundle.data(), bundle.size(), options, &module);
  });
  check_options<tsr_stream_options_t>("tsr_stream_options_t", [&](const tsr_stream_options_t* options) {
    tsr_stream_t stream = nullptr;
    return tsrCreateStream(context, options, &stream);
  });
  check_options<tsr_limits_t>("tsr_limits_t",
                              [&](const tsr_limits_t* limits) { return tsrSetLimits(context, limits); });
  HostTensor x({1}, {1}), y({1});
  const tsr_tensor_t* inputs[] = {&x.tensor};
  tsr_tensor_t* outputs[] = {&y.tensor};
  check_options<tsr_call_options_t>("tsr_call_options_t", [&](const tsr_call_options_t* options) {
    return tsrCall(function, nullptr, inputs, 1, outputs, 1, options);
  });
  check_options<tsr_import_options_t>("tsr_import_options_t", [&](const tsr_import_options_t* options) {
    static tsr_managed_tensor_t managed{};
    managed.tensor = x.tensor;
    tsr_tensor_t* tensor = nullptr;
    return tsrTensorFromDLPack(context, nullptr, &managed, options, &tensor);
  });
  check_sizes<tsr_export_options_t>("tsr_export_options_t", [&](tsr_export_options_t* options) {
    tsr_managed_tensor_t* managed = nullptr;
    options->release = [](void*) {};
    tsr_status_t status = tsrTensorToDLPack(context, &x.tensor, options, &managed);
    if (managed) managed->deleter(managed);
    return status;
  });
  check_sizes<tsr_allocator_t>("tsr_allocator_t", [](tsr_allocator_t* allocator) {
    allocator->allocate = [](void*, size_t bytes, uint32_t, void*) {
      return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    };
    allocator->free = [](void*, void* memory, size_t, uint32_t, void*) { std::free(memory); };
    auto options = sized<tsr_context_options_t>();
    options.allocator = allocator;
    tsr_context_t made = nullptr;
    tsr_status_t status = tsrCreateContextWith(&options, &made);
    tsrDestroyContext(made);
    return status;
  });
  check_sizes<tsr_device_info_t>("tsr_device_info_t",
                                 [](tsr_device_info_t* info) { return tsrGetDeviceInfo(0, info); });
  check_sizes<tsr_memory_info_t>("tsr_memory_info_t",
                                 [&](tsr_memory_info_t* info) { return tsrGetMemoryInfo(context, info); });
  tsr_kernel_t kernel = nullptr;
  REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
  check_sizes<tsr_kernel_info_t>("tsr_kernel_info_t",
                                 [&](tsr_kernel_info_t* info) { return tsrGetKernelInfo(kernel, info); });
  check_sizes<tsr_tensor_info_t>("tsr_tensor_info_t",
                                 [&](tsr_tensor_info_t* info) { return tsrGetInputInfo(function, 0, info); });
}

TEST_CASE("reserved fields and flags that there are not are refused", "[runtime][abi]") {
  Loaded loaded(make_bundle({add_one_plan()}));
  auto module_options = sized<tsr_module_options_t>();
  tsr_module_t module = nullptr;
  module_options.reserved = 1;
  CHECK(tsrLoadModuleFile(loaded.context, "/none", &module_options, &module) == TSR_EINVAL);
  CHECK(last_error() == "tsr_module_options_t: its reserved field is 1, not 0");
  auto stream_options = sized<tsr_stream_options_t>();
  tsr_stream_t stream = nullptr;
  stream_options.flags = 2;
  CHECK(tsrCreateStream(loaded.context, &stream_options, &stream) == TSR_EINVAL);
  CHECK(last_error() == "the flags 2 are other than TSR_STREAM_ADOPT");
  stream_options = sized<tsr_stream_options_t>();
  stream_options.native = &stream;
  CHECK(tsrCreateStream(loaded.context, &stream_options, &stream) == TSR_EINVAL);
  CHECK(last_error() == "a stream of the driver is given without TSR_STREAM_ADOPT");
  stream_options.flags = TSR_STREAM_ADOPT;
  CHECK(tsrCreateStream(loaded.context, &stream_options, &stream) == TSR_EUNSUPPORTED);
  CHECK(last_error() == "a CPU has no streams of a driver that could be adopted");
}

TEST_CASE("a warm call allocates nothing", "[runtime][abi]") {
  Loaded loaded(make_bundle({twice_plan()}));
  tsr_function_t function = loaded.function("twice");
  HostTensor in({3}, {1, 2, 3}), out({3});
  const tsr_tensor_t* inputs[] = {&in.tensor};
  tsr_tensor_t* outputs[] = {&out.tensor};
  auto options = sized<tsr_call_options_t>();
  size_t made = 0;
  for (int i = 0; i < 10; ++i) {
    size_t before = allocations_made;
    REQUIRE(tsrCall(function, nullptr, inputs, 1, outputs, 1, &options) == TSR_SUCCESS);
    made = allocations_made - before;
    if (i == 0) CHECK(made > 0);
  }
  CHECK(made == 0);
  CHECK(out.values() == std::vector<float>{3, 4, 5});
}

TEST_CASE("a context takes its threads from the options", "[runtime][abi]") {
  auto options = sized<tsr_context_options_t>();
  options.threads = 1025;
  tsr_context_t context = nullptr;
  CHECK(tsrCreateContextWith(&options, &context) == TSR_EINVAL);
  CHECK(last_error() == "1025 threads are more than 1024");
  options.threads = 1;
  REQUIRE(tsrCreateContextWith(&options, &context) == TSR_SUCCESS);
  CHECK(tsrDestroyContext(context) == TSR_SUCCESS);
}
