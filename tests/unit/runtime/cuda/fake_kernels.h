#pragma once
// The kernels that the fake driver can run.

#include <cstdint>
#include <vector>

#include "unit/runtime/cuda/fake_driver.h"
#include "unit/runtime/cuda/fake_memory.h"

namespace tessera::test {

/// Parameters of a launch as the driver copied them.
struct FakeArguments {
  const FakeMemory& memory;
  unsigned blocks;
  std::vector<uint64_t> pointers;
  std::vector<uint32_t> dims;
  std::vector<FakeTensorMap> maps;

  template <typename T>
  T* at(size_t pointer, size_t count) const {
    return reinterpret_cast<T*>(memory.translate(pointers[pointer], count * sizeof(T)));
  }
};

struct FakeKernel {
  const char* name;
  const char* params;  ///< p: pointer, d: u32, m: tensor map
  /// False for an access outside memory.
  bool (*run)(const FakeArguments&);
};

/// Null when there is none of that name.
const FakeKernel* find_fake_kernel(const char* name);

}  // namespace tessera::test
