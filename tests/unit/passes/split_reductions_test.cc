// split_reductions: on GPUs neighbours are combined at once, others one after the other.

#include "ir/core/machine.h"
#include "passes/pass.h"
#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

namespace {

/// The axes that are combined together, group after group, on a machine.
std::string groups(std::string_view machine, const std::string& type, const std::string& axes, const std::string& result,
                   const std::string& dtype = "f32") {
  GraphPassTest test;
  Op* f = test.function({"%x: tensor<" + type + ", " + dtype + ">"},
                        "%r: tensor<" + result + ", " + dtype + "> = gir.reduce %x {axes = [" + axes +
                            "], kind = \"sum\"}\ngir.return [%r]", 1);
  PassContext context{test.diagnostics, find_machine(machine)};
  REQUIRE(split_reductions(*f->module(), context));
  REQUIRE(verify(*f->module(), test.diagnostics));
  std::string all;
  walk(f, [&](Op* op) {
    if (op->is(graph::info(graph::OpKind::Reduce))) all += op->attr("axes")->text;
    if (op->is(graph::info(ElementwiseKind::Cast))) all += "cast";
  });
  return all;
}

}  // namespace

TEST_CASE("axes that are not neighbours are combined one group after the other") {
  CHECK(groups("cuda:sm_90a", "A x B x C", "0, 2", "B") == "[2][0]");
  CHECK(groups("cuda:sm_80", "A x B x C x D", "0, 2, 3", "B") == "[2, 3][0]");
  CHECK(groups("cuda:sm_80", "A x B x C x D", "1, 2", "A x D") == "[1, 2]");
  CHECK(groups("cuda:sm_80", "A x 1 x C", "0, 2", "1") == "[0, 2]");
  CHECK(groups("cuda:sm_80", "A x B x 1 x D", "0, 2, 3", "B") == "[3][0, 2]");
  CHECK(groups("cuda:sm_80", "1 x B x C x 1", "0, 2, 3", "B") == "[0, 2, 3]");
  CHECK(groups("cuda:sm_80", "A x B x C", "0, 2", "B", "bf16") == "cast[2][0]cast");
  CHECK(groups("cpu:x86-64-v4", "A x B x C", "0, 2", "B") == "[0, 2]");
}
