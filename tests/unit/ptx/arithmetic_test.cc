// Elementwise ops of every dtype that the passes leave, and casts.

#include "unit/ptx/ptx_fixture.h"

using namespace tessera;

namespace {

/// The ops one after another on registers of three lanes, each result stored.
std::string on_registers(const std::string& dtype, const std::vector<std::string>& ops) {
  std::string type = "reg<" + dtype + " x 3>", body;
  for (const char* name : {"%a", "%b", "%c"}) body += std::string(name) + ": " + type + " = target.load %x\n";
  int next = 0;
  for (const std::string& op : ops) {
    std::string name = "%r" + std::to_string(next++);
    body += name + ": " + type + " = target." + op + "\ntarget.store " + name + ", %y\n";
  }
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    std::string name = "%r" + std::to_string(next);
    body += "%m" + std::to_string(next) + ": reg<bool x 3> = target." + op + " %a, %b\n";
    body += name + ": " + type + " = target.select %m" + std::to_string(next++) + ", %a, %c\n";
    body += "target.store " + name + ", %y\n";
  }
  return body + "target.return";
}

}  // namespace

TEST_CASE("float ops assemble") {
  std::vector<std::string> ops = {"neg %a", "abs %a", "sqrt %a", "floor %a", "ceil %a", "round %a", "trunc %a",
                                  "add %a, %b", "sub %a, %b", "mul %a, %b", "div %a, %b", "fma %a, %b, %c"};
  check_both(ptx_kernel(on_registers("f64", ops)));
  ops.insert(ops.end(), {"min %a, %b", "max %a, %b"});
  check_both(ptx_kernel(on_registers("f32", ops)));
}

TEST_CASE("integer ops of every width assemble") {
  for (const char* dtype : {"i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"}) {
    check_both(ptx_kernel(on_registers(dtype, {"neg %a", "abs %a", "not %a", "add %a, %b", "sub %a, %b", "mul %a, %b",
                                    "div %a, %b", "min %a, %b", "max %a, %b", "and %a, %b", "or %a, %b",
                                    "xor %a, %b", "shl %a, %b", "shr %a, %b"})));
  }
}

TEST_CASE("ops of bool are ops of predicates") {
  std::string body = "%f: reg<f32 x 3> = target.load %x\n%p: reg<bool x 3> = target.lt %f, %f\n"
                     "%q: reg<bool x 3> = target.mask %t\n";
  std::string last = "%p";
  int next = 0;
  for (const char* op : {"and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge"}) {
    std::string name = "%r" + std::to_string(next++);
    body += name + ": reg<bool x 3> = target." + op + " " + last + ", %q\n";
    last = name;
  }
  body += "%no: reg<bool x 3> = target.not " + last + "\n%se: reg<bool x 3> = target.select %no, %p, %q\n"
          "%u: reg<u8 x 3> = target.cast %se\ntarget.store %u, %y\ntarget.return";
  check_both(ptx_kernel(body));
}

TEST_CASE("casts assemble") {
  std::vector<std::string> numbers = {"f64", "f32", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"};
  for (const std::string& from : numbers) {
    std::string body = "%a: reg<" + from + " x 3> = target.load %x\n";
    for (const std::string& to : numbers) {
      if (to == from) continue;
      body += "%to_" + to + ": reg<" + to + " x 3> = target.cast %a\ntarget.store %to_" + to + ", %y\n";
    }
    check_both(ptx_kernel(body + "target.return"));
  }
}

TEST_CASE("pairs of f32 become 16-bit floats in one instruction") {
  for (const char* dtype : {"bf16", "f16"}) {
    std::string type = std::string("reg<") + dtype + " x 5>";
    std::string body =
        "%a: reg<f32 x 5> = target.load %x\n%h: " + type +
        " = target.cast %a\n%b: reg<f32 x 5> = "
        "target.cast %h\n%c: reg<f32 x 5> = target.add %a, %b\ntarget.store %c, %y\ntarget.store %h, %y\n"
        "target.return";
    check_both(ptx_kernel(body));
    std::string ptx = PtxFixture().emit(ptx_kernel(body), "cuda:sm_80");
    CHECK(count_of(ptx, std::string("cvt.rn.") + dtype + "x2.f32") == 3);
  }
}

TEST_CASE("floats are neither flushed nor approximated, and extremes pass NaN on") {
  std::string ptx = PtxFixture().emit(
      ptx_kernel(on_registers("f32", {"div %a, %b", "sqrt %a", "max %a, %b", "min %a, %b", "fma %a, %b, %c"})),
      "cuda:sm_90a");
  INFO(ptx);
  CHECK(count_of(ptx, ".ftz") == 0);
  CHECK(count_of(ptx, "div.rn.f32") == 3);
  CHECK(count_of(ptx, "sqrt.rn.f32") == 3);
  CHECK(count_of(ptx, "max.NaN.f32") == 3);
  CHECK(count_of(ptx, "setp.neu.f32") == 3);
}

TEST_CASE("approximate functions are one instruction each") {
  std::string body = "%a0: reg<f32 x 2> = target.load %x\n";
  int next = 0;
  for (const char* name : {"exp2", "log2", "reciprocal", "rsqrt", "sqrt", "tanh"}) {
    body +=
        "%a" + std::to_string(next + 1) + ": reg<f32 x 2> = nv.approx_" + name + " %a" + std::to_string(next) + "\n";
    ++next;
  }
  body += "%half: reg<f32 x 2> = target.constant {value = 0.5}\n%a7: reg<f32 x 2> = nv.fma_clamped %a6, %half, %a0\n"
          "target.store %a7, %y\ntarget.return";
  check_both(ptx_kernel(body));
  std::string ptx = PtxFixture().emit(ptx_kernel(body), "cuda:sm_80");
  CHECK(count_of(ptx, "fma.rn.sat.f32") == 2);
  CHECK(count_of(ptx, ".approx.f32") + count_of(ptx, "ex2.approx.ftz.f32") == 12);
}
