// What examples/embed_c does, with the wrapper for C++: embed BUNDLE ENTRY N

#include <cstdint>
#include <iostream>
#include <numeric>
#include <string>
#include <tessera.hpp>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: embed BUNDLE ENTRY N\n";
    return 2;
  }
  try {
    tsr::Context context;
    tsr::Function entry = tsr::Module::from_file(context, argv[1]).function(argv[2]);
    std::vector<float> numbers(std::stoul(argv[3]));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    tsr::OwnedTensor x(context, tsr::f32, {int64_t(numbers.size())});
    x.write(numbers);
    for (const tsr::OwnedTensor& y : entry({x})) {
      for (float value : y.read<float>()) std::cout << value << '\n';
    }
  } catch (const tsr::Error& error) {
    std::cerr << error.status_name() << ": " << error.what() << '\n';
    return 1;
  }
}
