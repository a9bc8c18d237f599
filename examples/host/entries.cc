// Lists the entries of a source with what calls of them have to bring: entries FILE.tsr

#include <fstream>
#include <iostream>
#include <sstream>
#include <tessera_frontend.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: entries FILE.tsr\n";
    return 1;
  }
  std::ifstream file(argv[1], std::ios::binary);
  std::ostringstream text;
  if (!(text << file.rdbuf())) {
    std::cerr << argv[1] << " cannot be read\n";
    return 1;
  }
  tessera_frontend::ModuleIr ir = tessera_frontend::frontend_compile(argv[1], text.str());
  if (!ir || !ir.ok()) {
    std::cerr << (ir ? ir.rendered() : "there is too little memory\n");
    return 1;
  }
  std::vector<tessera_frontend::Finding> findings = tessera_frontend::validate_shapes(ir).findings();
  for (const std::string& entry : ir.entries()) {
    std::cout << entry << '\n';
    for (const tessera_frontend::Finding& finding : findings) {
      if (finding.entry == entry) std::cout << "  " << finding.message << '\n';
    }
  }
}
