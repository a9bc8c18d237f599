#include "unit/runtime/cuda/fake_kernels.h"

#include <algorithm>
#include <cstring>

namespace tessera::test {

namespace {

/// y[N] = x[N] + 1, 16 elements a block.
bool add_one(const FakeArguments& a) {
  uint32_t n = std::min(a.dims[0], a.blocks * 16);
  const float* x = a.at<float>(0, n);
  float* y = a.at<float>(1, n);
  for (uint32_t i = 0; x && y && i < n; ++i) y[i] = x[i] + 1;
  return x && y;
}

/// The same by persistent blocks.
bool add_one_persistent(const FakeArguments& a) {
  FakeArguments all = a;
  all.blocks = UINT32_MAX / 16;
  return add_one(all);
}

/// y[M, N] = x[M, N] * s[N].
bool scale(const FakeArguments& a) {
  size_t n = a.dims[1], count = size_t(a.dims[0]) * n;
  const float* x = a.at<float>(0, count);
  const float* s = a.at<float>(1, n);
  float* y = a.at<float>(2, count);
  for (size_t i = 0; x && s && y && i < count; ++i) y[i] = x[i] * s[i % n];
  return x && s && y;
}

bool is_positive(const FakeArguments& a) {
  const float* x = a.at<float>(0, 1);
  auto* flag = a.at<uint8_t>(1, 1);
  if (x && flag) *flag = *x > 0;
  return x && flag;
}

bool copy_seed(const FakeArguments& a) {
  const uint64_t* seed = a.at<uint64_t>(0, 1);
  auto* y = a.at<uint64_t>(1, 1);
  if (seed && y) *y = *seed;
  return seed && y;
}

/// y[M, N] = x[M, N], both through tensor maps of rank 2.
bool copy_boxes(const FakeArguments& a) {
  const FakeTensorMap& from = a.maps[0];
  const FakeTensorMap& to = a.maps[1];
  for (uint64_t row = 0; row < std::min(from.extents[1], to.extents[1]); ++row) {
    size_t bytes = std::min(from.extents[0], to.extents[0]) * sizeof(float);
    const char* source = a.memory.translate(from.address + row * from.strides[0], bytes);
    char* target = a.memory.translate(to.address + row * to.strides[0], bytes);
    if (!source || !target) return false;
    std::memcpy(target, source, bytes);
  }
  return true;
}

bool trap(const FakeArguments&) {
  return false;
}

constexpr FakeKernel kernels[] = {
    {"add_one", "ppd", add_one},
    {"add_one_persistent", "ppd", add_one_persistent},
    {"copy_boxes", "ppddmm", copy_boxes},
    {"copy_seed", "pp", copy_seed},
    {"is_positive", "pp", is_positive},
    {"scale", "pppdd", scale},
    {"trap", "pp", trap},
};

}  // namespace

const FakeKernel* find_fake_kernel(const char* name) {
  for (const FakeKernel& kernel : kernels) {
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  }
  return nullptr;
}

}  // namespace tessera::test
