// What would not fit registers is computed right before its use; what others can see keeps its order.

#include "unit/ptx/ptx_fixture.h"

using namespace tessera;

namespace {

size_t first_of(const std::string& ptx, const std::string& what) { return ptx.find(what); }
size_t last_of(const std::string& ptx, const std::string& what) { return ptx.rfind(what); }

/// A chain of three values of that many lanes from %x, stored to `to`; `between` stands before the stores.
std::string chain(const std::string& lanes, const std::string& to) {
  std::string reg = ": reg<f32 x " + lanes + "> = ";
  return ptx_kernel("%a" + reg + "target.load %x\n%b" + reg + "target.sqrt %a\n%c" + reg + "target.mul %a, %b\n%d" +
                    reg + "target.add %b, %c\n" + "target.store %d, " + to + "\ntarget.return");
}

/// Sums of three loads of that many lanes.
std::string sums(const std::string& lanes, const std::string& to, const std::string& between = "") {
  std::string reg = ": reg<f32 x " + lanes + "> = ";
  std::string text = "%far: i64 = target.constant {value = 65536}\n%x1: ptr = target.offset %x, %far\n"
                     "%x2: ptr = target.offset %x1, %far\n";
  text += "%a" + reg + "target.load %x\n%b" + reg + "target.load %x1\n%c" + reg + "target.load %x2\n" + between;
  text += "%d" + reg + "target.add %a, %b\n%e" + reg + "target.add %d, %c\ntarget.store %e, " + to + "\ntarget.return";
  return ptx_kernel(text);
}

std::string emit(const std::string& text) {
  std::string ptx = PtxFixture().emit(text, "cuda:sm_80");
  INFO(ptx);
  REQUIRE(ptx.find(".entry k$0(") != std::string::npos);
  return ptx;
}

}  // namespace

TEST_CASE("what fits registers is computed step by step for all elements") {
  std::string ptx = emit(chain("8", "%y"));
  CHECK(count_of(ptx, "sqrt") == 8);
  CHECK(last_of(ptx, "sqrt") < first_of(ptx, "mul"));
}

TEST_CASE("what does not is computed element by element") {
  std::string ptx = emit(chain("120", "%y"));
  CHECK(count_of(ptx, "sqrt") == 120);
  CHECK(count_of(ptx, "st.global") == 120);
  // Loads fit, and stay ahead.
  CHECK(last_of(ptx, "ld.global") < first_of(ptx, "sqrt"));
  CHECK(first_of(ptx, "st.global") < last_of(ptx, "sqrt"));
  check_assembles(ptx, "cuda:sm_80");
}

TEST_CASE("loads that do not fit wait, too") {
  std::string ptx = emit(sums("120", "%y"));
  CHECK(count_of(ptx, "ld.global") == 360);
  CHECK(first_of(ptx, "st.global") < last_of(ptx, "ld.global"));
  check_assembles(ptx, "cuda:sm_80");
}

TEST_CASE("no load waits until its memory may have changed") {
  std::string same = emit(sums("120", "%x"));
  CHECK(last_of(same, "ld.global") < first_of(same, "st.global"));
  std::string barrier = emit(sums("120", "%y", "nv.barrier {id = 0, threads = 128}\n"));
  CHECK(last_of(barrier, "ld.global") < first_of(barrier, "bar.sync"));
}
