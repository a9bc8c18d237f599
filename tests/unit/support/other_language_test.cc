#include "support/other_language.h"

#include <catch2/catch.hpp>

using namespace tessera;

TEST_CASE("source of another language is known by its lines") {
  CHECK(find_other_language("__global__ void f() {}\n")->name == "CUDA source");
  CHECK(find_other_language("// it's\n\n  __global__ void f() {}\n")->offset == 11);
  CHECK(find_other_language("x = 'a'  # \"\"\"\n@triton.jit\ndef f(): pass\n")->name == "Triton source");
}

TEST_CASE("texts, comments and branches of conditions name no other language") {
  for (const char* text :
       {"# \"\"\"\n\"\"\"\n@triton.jit\n\"\"\"\n", "s = '''\n  @triton.jit\n'''\n", "%if 0\n__global__ void k()\n%endif\n",
        "s = 'it\\'s \"\"\"'\nt = \"\"\"\n__global__ void k()\n\"\"\"\n", "# __global__ void k()\n", "__global__ = 1\n"}) {
    INFO(text);
    CHECK(!find_other_language(text));
  }
}
