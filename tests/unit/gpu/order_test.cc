// The order of instructions changes no value and nothing that others see, in any kernel and however few registers
// there are.

#include <catch2/catch.hpp>

#include "codegen/ptx/emitter.h"
#include "codegen/ptx/liveness.h"
#include "codegen/ptx/order.h"
#include "unit/gpu/gpu_program.h"

using namespace tessera;
using namespace tessera::test;
using namespace tessera::codegen::ptx;

namespace {

/// What a block's instructions say, with what words stand for in place of their names.
class Meaning {
 public:
  Meaning(const Code& code, const Liveness& liveness, size_t block) : values_(code.words.size()) {
    for (size_t w = 0; w < values_.size(); ++w) values_[w] = w;
    for (const Instruction& instruction : code.blocks[block].instructions) add(instruction);
    liveness.live_out(block).for_each([&](uint32_t word) { seen_.push_back(values_[word]); });
  }
  friend bool operator==(const Meaning& a, const Meaning& b) { return a.seen_ == b.seen_; }

 private:
  void add(const Instruction& instruction) {
    if (instruction.role == Role::Copy) {
      std::vector<size_t> from;
      for (const Move& move : instruction.moves) {
        from.push_back(move.from.is_word() ? values_[move.from.word] : move.from.bits);
      }
      for (size_t i = 0; i < from.size(); ++i) values_[instruction.moves[i].to] = from[i];
      return;
    }
    std::string text;
    for (size_t at = 0; at < instruction.text.size();) {
      size_t mark = instruction.text.find('#', at);
      text += instruction.text.substr(at, mark - at);
      if (mark == std::string::npos) break;
      size_t end = instruction.text.find(';', mark);
      uint32_t word = uint32_t(std::stoul(instruction.text.substr(mark + 1, end - mark)));
      bool made = std::find(instruction.defs.begin(), instruction.defs.end(), word) != instruction.defs.end();
      text += made ? "new" : std::to_string(values_[word]);
      at = end + 1;
    }
    for (uint32_t use : instruction.uses) text += " " + std::to_string(values_[use]);
    size_t hash = std::hash<std::string>()(text);
    if (instruction.defs.empty()) seen_.push_back(hash);
    for (size_t i = 0; i < instruction.defs.size(); ++i) values_[instruction.defs[i]] = hash + i;
  }

  std::vector<size_t> values_, seen_;
};

std::vector<Meaning> meanings(const Code& code) {
  Liveness liveness(code);
  std::vector<Meaning> all;
  for (size_t b = 0; b < code.blocks.size(); ++b) all.emplace_back(code, liveness, b);
  return all;
}

}  // namespace

TEST_CASE("no order of a kernel's instructions changes what it computes") {
  for (std::string_view machine : gpu_machines) {
    for (const GpuCase& each : gpu_cases()) {
      DYNAMIC_SECTION(each.name << " for " << machine) {
        GpuProgram program(each, machine);
        program.finish();
        for (Op* func : *program.module().body()) {
          if (!func->is(target::info(target::OpKind::Func))) continue;
          for (int64_t registers : {0, 40}) {
            Code code = Emitter(func, program.machine()).run();
            std::vector<Meaning> before = meanings(code);
            order_for_registers(code, registers, false);
            CHECK(before == meanings(code));
          }
        }
      }
    }
  }
}
