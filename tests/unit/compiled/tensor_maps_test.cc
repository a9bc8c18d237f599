// The compiler and the runtime agree about what tensor maps can hold.

#include <catch2/catch.hpp>

#include "codegen/plan/format_terms.h"
#include "passes/tile/gpu/tensor_copies.h"
#include "runtime/format/reflection.h"

using namespace tessera;

TEST_CASE("a dtype that the copy engine is used for is one that the loader takes") {
  for (size_t i = 0; i < std::size(dtype_table); ++i) {
    INFO(dtype_table[i].text);
    CHECK(has_tensor_map_type(DType(i)) == format::has_tensor_map_type(codegen::format_dtype(DType(i))));
  }
}
