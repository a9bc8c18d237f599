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
       {"# \"\"\"\n\"\"\"\n@triton.jit\n\"\"\"\n", "s = '''\n  @triton.jit\n'''\n",
        "%if 0\n__global__ void k()\n%endif\n", "s = 'it\\'s \"\"\"'\nt = \"\"\"\n__global__ void k()\n\"\"\"\n",
        "# __global__ void k()\n", "__global__ = 1\n"}) {
    INFO(text);
    CHECK(!find_other_language(text));
  }
}

TEST_CASE("a function of C begins with a type and a name") {
  for (std::string_view text : {"float f(float x) {\n",
                                "x = 1\nstatic inline const float* f(float x)\n{\n", "void f(\n",
                                "std::vector<float> f() {\n", "using namespace std;\n"}) {
    INFO(text);
    REQUIRE(find_other_language(text));
    CHECK(find_other_language(text)->name == "C or C++ source");
  }
  for (std::string_view text : {"float z = f(2.0)\n", "float(x)\n", "int = f(2)\n", "f(float x)\n", "# float f(x)\n",
                                "\"\"\"\nfloat f(float x) {\n\"\"\"\n"}) {
    INFO(text);
    CHECK(!find_other_language(text));
  }
}

TEST_CASE("a function in braces is of another language") {
  CHECK(find_other_language("fn f(x: f32) -> f32 {\n")->name == "Rust source");
  CHECK(find_other_language("function f(x) { \r\n")->name == "JavaScript source");
  CHECK(!find_other_language("fn f(x):\n"));
}

TEST_CASE("Python is a package that is imported, code, and nothing of Tessera") {
  CHECK(find_other_language("import os\nfrom torch import nn\nclass Net(nn.Module):\n    pass\n")->offset == 10);
  CHECK(find_other_language("import jax.numpy as jnp\ndef f(x):\n")->name == "JAX source");
  for (std::string_view text : {"import torch\n",
                                "import torch\nconst N = 4\ndef f(x):\n", "import torchvision\ndef f(x):\n",
                                "import torch\ndef f(x: Tensor[B, f32]):\n", "# import torch\ndef f(x):\n",
                                "import numpy as np\nx = np.pi\n", "def f(x):\n    import torch\n"}) {
    INFO(text);
    CHECK(!find_other_language(text));
  }
}
