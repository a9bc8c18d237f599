#pragma once
// Target IR in, PTX out, and what ptxas says of it where there is one.

#include <catch2/catch.hpp>

#include "codegen/ptx/assembler.h"
#include "codegen/ptx/emit_ptx.h"
#include "codegen/ptx/ptxas.h"
#include "ir/target/ops.h"
#include "ir/text/parser.h"

namespace tessera {

struct PtxFixture {
  Context context;
  SourceManager sources;
  DiagnosticEngine diagnostics{sources};
  std::vector<std::unique_ptr<Module>> modules;

  PtxFixture() { target::register_ops(context); }

  /// The PTX without line numbers, or the rendered diagnostics.
  std::string emit(const std::string& text, const std::string& machine) {
    FileId file = sources.add("test.tir", text);
    auto read = parse_modules(context, file, diagnostics);
    if (!read) return render_all(diagnostics, {});
    modules = std::move(*read);
    std::vector<Module*> all;
    for (const auto& module : modules) all.push_back(module.get());
    Result<std::string> ptx = codegen::emit_ptx(all, *find_machine(machine), diagnostics);
    return ptx ? without_places(*ptx) : render_all(diagnostics, {});
  }

  static std::string without_places(const std::string& ptx) {
    std::string out;
    for (size_t at = 0; at < ptx.size();) {
      size_t end = ptx.find('\n', at) + 1;
      std::string line = ptx.substr(at, end - at);
      if (line.find(".loc\t") == std::string::npos && line.find(".file\t") == std::string::npos) out += line;
      at = end;
    }
    return out;
  }
};

/// A kernel of two buffers, one dim and no tensor maps: %x and %y are addresses, %n is the dim, %t the thread.
inline std::string ptx_kernel(const std::string& body, const std::string& facts = "threads = 128") {
  return "module @m level(target) version(1) {\n  target.func @k.0(%x: ptr, %y: ptr, %n: u32) {dims = [\"N\"], grid = "
         "[1], outputs = 1, params = [!tensor<N, f32>, !tensor<N, f32>], schedule = {}, scratch = 0, " + facts +
         "} {\n%t: i32 = nv.thread_id\n" + body + "\n  }\n}\n";
}

/// Assembles where ptxas is at hand; every loss, spill and error fails the test.
inline void check_assembles(std::string ptx, const std::string& machine) {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: the text is not assembled");
    return;
  }
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  Result<codegen::Cubin> cubin = codegen::assemble_ptx(ptx, *find_machine(machine), {}, diagnostics);
  INFO(ptx);
  INFO(render_all(diagnostics, {}));
  CHECK(bool(cubin));
}

/// What the text becomes for both machines has its kernel, and assembles.
inline void check_both(const std::string& text) {
  for (const char* machine : {"cuda:sm_80", "cuda:sm_90a"}) {
    std::string ptx = PtxFixture().emit(text, machine);
    INFO(text);
    INFO(ptx);
    REQUIRE(ptx.find(".visible .entry k$0(") != std::string::npos);
    check_assembles(ptx, machine);
  }
}

/// The number of lines that hold `what`.
inline size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++count;
  return count;
}

}  // namespace tessera
