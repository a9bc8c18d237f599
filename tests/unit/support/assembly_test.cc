#include "support/assembly.h"

#include <catch2/catch.hpp>

using tessera::Assembly;
using tessera::split_assembly;

TEST_CASE("assembly is split into functions, each line with its place") {
  Assembly made = split_assembly(
      "\t.text\n"
      "\t.file\t\"kernels\"\n"
      "\t.file\t1 \"/folder\" \"a.tsr\"\n"
      "\t.section\t.rodata\n"
      ".LCPI0_0:\n"
      "\t.long\t7\n"
      "f.0:\n"
      ".Lfunc_begin0:\n"
      "\t.loc\t1 3 5  # a comment\n"
      "\t.cfi_startproc\n"
      "\tpushq\t%rbp\n"
      "\t.loc\t9 1 1\n"
      "\tret\n"
      "\t.size\tf.0, .-f.0\n"
      "\t.set\t\"f.1\", f.0\n");
  CHECK(made.files == std::vector<std::string>{"/folder/a.tsr"});
  REQUIRE(made.functions.size() == 2);
  CHECK(made.functions[0].name == "f.0");
  std::vector<std::string_view> texts;
  for (const tessera::AssemblyLine& line : made.functions[0].lines) texts.push_back(line.text);
  CHECK(texts == std::vector<std::string_view>{"\t.text", "\t.section\t.rodata", ".LCPI0_0:", "\t.long\t7", "f.0:",
                                               "\tpushq\t%rbp", "\tret", "\t.size\tf.0, .-f.0"});
  const tessera::AssemblyLine& push = made.functions[0].lines[5];
  CHECK(push.file == 1);
  CHECK(push.line == 3);
  CHECK(push.column == 5);
  CHECK(made.functions[0].lines[6].file == 0);
  CHECK(made.functions[1].name == "f.1");
  CHECK(made.functions[1].same_as == "f.0");
}

TEST_CASE("PTX is split into its entries") {
  Assembly made = split_assembly(
      ".version 8.3\n.file 1 \"a.tsr\"\n.visible .entry f$0(\n\t.param .u64 p)\n{\n\t.loc\t1 2 3\n\tret;\n}\n"
      ".visible .entry g$0(\n\t.param .u64 p)\n{\n\tret;\n}\n");
  REQUIRE(made.functions.size() == 2);
  CHECK(made.functions[0].name == "f$0");
  CHECK(made.functions[0].lines.size() == 5);
  CHECK(made.functions[0].lines[3].line == 2);
  CHECK(made.functions[1].name == "g$0");
  CHECK(made.functions[1].lines[3].file == 0);
}

TEST_CASE("any text is split without harm") {
  for (const char* text : {"", "\n", ".", "\t.", ".file", ".file 1", ".loc", ".loc 1 2", ".size", ".set", ".visible",
                           ".visible .entry", "\t.file \"", "}", ".size \"", ".loc 99999999999 1 1"}) {
    for (const auto& function : split_assembly(text).functions) CHECK(function.lines.size() <= 1);
  }
}
