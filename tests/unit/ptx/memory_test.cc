// Loads, stores and the packing of lanes: which instructions they become, and that the assembler takes them.

#include "unit/ptx/ptx_fixture.h"

using namespace tessera;

namespace {

const std::vector<std::string> dtypes = {"f64", "f32", "tf32", "bf16", "f16", "f8e4m3", "f8e5m2", "i64",
                                         "i32", "i16", "i8",   "u64",  "u32", "u16",    "u8"};

std::string emitted(const std::string& body) { return PtxFixture().emit(ptx_kernel(body), "cuda:sm_90a"); }

}  // namespace

TEST_CASE("every dtype is loaded and stored, in every number of lanes and at every alignment") {
  for (const std::string& dtype : dtypes) {
    std::string body;
    int next = 0;
    for (int lanes : {1, 2, 3, 4, 5, 8, 16, 17}) {
      for (int align : {0, 8, 16}) {
        std::string facts = align ? " {align = " + std::to_string(align) + "}" : "";
        std::string name = "%v" + std::to_string(next++);
        body += name + ": reg<" + dtype + " x " + std::to_string(lanes) + "> = target.load %x" + facts + "\n";
        body += "target.store " + name + ", %y" + facts + "\n";
      }
    }
    body += "%s: ptr<shared> = nv.shared_base\n%a: " + dtype + " = target.load %s\ntarget.store %a, %s\ntarget.return";
    check_both(ptx_kernel(body, "shared = 1024, threads = 128"));
  }
}

TEST_CASE("accesses are as wide as the alignment allows") {
  std::string ptx = emitted("%a: reg<bf16 x 8> = target.load %x {align = 16, invariant = true}\n"
                            "target.store %a, %y {align = 8}\n"
                            "%b: reg<f64 x 2> = target.load %x {align = 16}\n"
                            "target.store %b, %y {align = 8}\ntarget.return");
  INFO(ptx);
  CHECK(count_of(ptx, "ld.global.nc.v4.b32") == 1);
  CHECK(count_of(ptx, "st.global.v2.b32") == 2);
  CHECK(count_of(ptx, "ld.global.v2.b64") == 1);
  CHECK(count_of(ptx, "st.global.b64") == 2);
}

TEST_CASE("offsets by constants are in the instruction") {
  std::string ptx = emitted("%c: i32 = target.constant {value = 64}\n%p: ptr = target.offset %x, %c\n"
                            "%q: ptr = target.offset %p, %c\n%a: f32 = target.load %q\n"
                            "target.store %a, %y\ntarget.return");
  INFO(ptx);
  CHECK(ptx.find("+128];") != std::string::npos);
  CHECK(count_of(ptx, "add.") == 0);
}

TEST_CASE("lanes with one condition are accessed at once, others one by one") {
  std::string head = "%c: i32 = target.constant {value = 3}\n%in: bool = target.lt %t, %c\n"
                     "%f: reg<bf16 x 8> = target.constant {value = 0.0}\n";
  std::string splat = emitted(head + "%m: reg<bool x 8> = target.splat %in\n"
                              "%a: reg<bf16 x 8> = target.load_masked %x, %m, %f {align = 16}\n"
                              "target.store_masked %a, %y, %m {align = 16}\ntarget.return");
  INFO(splat);
  CHECK(count_of(splat, "ld.global.v4.b32") == 1);
  CHECK(count_of(splat, "st.global.v4.b32") == 1);
  check_assembles(splat, "cuda:sm_90a");
  std::string counted = emitted(head + "%m: reg<bool x 8> = target.mask %t\n"
                                "%a: reg<bf16 x 8> = target.load_masked %x, %m, %f {align = 16}\n"
                                "target.store_masked %a, %y, %m {align = 16}\ntarget.return");
  INFO(counted);
  CHECK(count_of(counted, "ld.global.b16") == 8);
  CHECK(count_of(counted, "st.global.b16") == 8);
  check_assembles(counted, "cuda:sm_90a");
}

TEST_CASE("masked accesses and gathers of every dtype assemble") {
  for (const std::string& dtype : dtypes) {
    std::string type = "reg<" + dtype + " x 5>";
    check_both(ptx_kernel("%m: reg<bool x 5> = target.mask %t\n%i: reg<i32 x 5> = target.iota\n%f: " + type +
                          " = target.load %x\n%a: " + type + " = target.load_masked %x, %m, %f\n%b: " + type +
                          " = target.gather %x, %i, %m, %a\ntarget.store_masked %b, %y, %m\ntarget.return"));
  }
}

TEST_CASE("moving lanes of 32 bits takes no instruction, and of 16 bits a byte permutation") {
  std::string moves =
      "%s: reg<D x 4> = target.shuffle %a, %b {lanes = [0, 5, 2, 7]}\n%e: D = target.extract %s {lane = 1}\n"
      "%j: reg<D x 4> = target.insert %s, %e {lane = 3}\n%k: reg<D x 8> = target.concat [%j, %s]\n"
      "%z: reg<D x 2> = target.splat %e\n%w: reg<D x 10> = target.concat [%k, %z]\n"
      "target.store %w, %y {align = 4}\ntarget.return";
  auto with = [&](const std::string& dtype) {
    std::string body = "%a: reg<D x 4> = target.load %x {align = 4}\n%p: ptr = target.offset %x, %t\n"
                       "%b: reg<D x 4> = target.load %p {align = 4}\n" + moves;
    for (size_t at = body.find("D x"); at != std::string::npos; at = body.find("D x")) body.replace(at, 1, dtype);
    for (size_t at = body.find(": D ="); at != std::string::npos; at = body.find(": D ="))
      body.replace(at + 2, 1, dtype);
    return emitted(body);
  };
  std::string wide = with("f32"), narrow = with("bf16");
  INFO(wide + narrow);
  CHECK(count_of(wide, "mov.b32") == 0);
  CHECK(count_of(wide, "prmt") == 0);
  CHECK(count_of(wide, "st.global.b32") == 10);
  CHECK(count_of(narrow, "prmt") > 0);
  CHECK(count_of(narrow, "prmt") <= 6);
  check_assembles(narrow, "cuda:sm_90a");
}
