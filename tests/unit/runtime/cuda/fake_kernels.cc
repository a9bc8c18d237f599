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

/// add_one of 16 elements a block; one that would go past the end writes an entry to its log.
bool checked(const FakeArguments& a) {
  for (uint32_t block = 0; block < a.blocks; ++block) {
    if (block * 16 + 16 > a.dims[0]) {
      auto* log = a.at<uint64_t>(2, 8 * 257);
      if (!log) return false;
      uint64_t entry = log[0]++;
      const uint64_t fields[] = {1, block, 0, block * 16, 16, a.dims[0]};
      for (size_t i = 0; entry < log[1] && i < 6; ++i) log[8 * (entry + 1) + i] = fields[i];
      continue;
    }
    const float* x = a.at<float>(0, block * 16 + 16);
    float* y = a.at<float>(1, block * 16 + 16);
    for (uint32_t i = block * 16; x && y && i < block * 16 + 16; ++i) y[i] = x[i] + 1;
    if (!x || !y) return false;
  }
  return true;
}

/// y[N] = x[N] / x[N], and one element more.
bool overrun(const FakeArguments& a) {
  uint32_t n = a.dims[0];
  const float* x = a.at<float>(0, n);
  float* y = a.at<float>(1, n + 1);
  for (uint32_t i = 0; x && y && i < n; ++i) y[i] = x[i] / x[i];
  if (y) y[n] = 7;
  return x && y;
}

/// y[N] = x[N] / x[N].
bool ratio(const FakeArguments& a) {
  uint32_t n = a.dims[0];
  const float* x = a.at<float>(0, n);
  float* y = a.at<float>(1, n);
  for (uint32_t i = 0; x && y && i < n; ++i) y[i] = x[i] / x[i];
  return x && y;
}

bool trap(const FakeArguments&) {
  return false;
}

constexpr FakeKernel kernels[] = {
    {"add_one", "ppd", add_one},
    {"add_one_persistent", "ppd", add_one_persistent},
    {"checked", "pppd", checked},
    {"copy_boxes", "ppddmm", copy_boxes},
    {"copy_seed", "pp", copy_seed},
    {"is_positive", "pp", is_positive},
    {"overrun", "ppd", overrun},
    {"ratio", "ppd", ratio},
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
