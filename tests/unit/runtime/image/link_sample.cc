// Makes an image of an object: link_sample OBJECT IMAGE.

#include <fstream>
#include <iterator>
#include <string>

#include "codegen/llvm/link_kernels.h"

int main(int, char** arguments) {
  std::ifstream in(arguments[1], std::ios::binary);
  std::string object{std::istreambuf_iterator<char>(in), {}};
  std::ofstream out(arguments[2], std::ios::binary);
  out << tessera::codegen::link_kernels({&object, 1});
  return in && out.flush() ? 0 : 1;
}
