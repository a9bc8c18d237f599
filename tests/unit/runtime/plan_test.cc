// The byte form of plans and what check_plan refuses.

#include <catch2/catch.hpp>
#include <functional>

#include "runtime/format/plan_opcodes.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

/// A plan with every kind of step and buffer.
Plan full() {
  PlanBuilder b("full");
  b.dim("M");
  b.dim("N");
  uint32_t count = b.input("count", {}, Dtype::I64);
  b.scalar_dim("count", count);
  uint32_t i = b.loop_dim("i");
  uint32_t x = b.input("x", {"M", "N"});
  uint32_t state = b.input("state", {"N"});
  uint32_t w = b.param("w", {"N"});
  uint32_t y = b.output("y", {"M", "N"});
  uint32_t next = b.output("next", {"N"});
  uint32_t c = b.constant({1, 2, 3});
  uint32_t t = b.temp({"M", "N"}, 0, 7);
  uint32_t row = b.temp({"N"}, 4, 5);
  uint32_t flag = b.temp({}, 6, 7, Dtype::Bool);
  (void)c;
  b.guard("M > 0 and count <= N", "where M > 0 (a.tsr:1:1) does not hold");
  b.step(AliasStep{next, state, b.expr("0")});          // 0
  b.step(SelectStep{b.expr("M*N < 100"), 1, 0});        // 1
  b.launch("scale", {x, w, t}, {"M", "N"});             // 2
  b.step(ForStep{i, b.expr("0"), b.expr("count"), 2});  // 3
  b.step(AliasStep{row, t, b.expr("4*i*N")});           // 4
  b.launch("add_one", {row, next}, {"N"});              // 5
  b.step(FillStep{flag, 1, 1});                         // 6
  b.step(IfStep{flag, 1, 1});                           // 7
  b.step(CopyStep{y, t});                               // 8
  b.step(FillStep{y, 8, 0x0102030405060708});           // 9
  b.plan.buffers[t].last_step = 9;
  return b.plan;
}

std::string refusal_of(Plan plan, const std::function<void(Plan&)>& change) {
  change(plan);
  Outcome checked = check_plan(plan);
  return checked ? "" : checked.error().text;
}

std::string refusal(const std::function<void(Plan&)>& change) { return refusal_of(full(), change); }

template <typename T>
T& step(Plan& plan, size_t index) {
  return std::get<T>(plan.steps[index]);
}

std::string text_of(const Plan& plan) {
  std::string out;
  print_plan(plan, [&](std::string_view line) { out += line; });
  return out;
}

/// Writes a plan, reads it back, and reads nothing of its beginnings. Returns its bytes.
std::string read_back(const Plan& plan) {
  std::string bytes = encode_plan(plan);
  auto again = decode_plan(bytes);
  INFO((again ? "" : again.error().text));
  REQUIRE(again);
  CHECK(*again == plan);
  CHECK(encode_plan(*again) == bytes);
  for (size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(decode_plan(std::string_view(bytes).substr(0, size)));
  return bytes;
}

}  // namespace

TEST_CASE("a plan is read back as it was written", "[format]") {
  Plan plan = full();
  REQUIRE(check_plan(plan));
  read_back(plan);
  CHECK(text_of(plan).find("for i in [0, count)") != std::string::npos);
}

TEST_CASE("the text of a plan has a long expression once", "[format]") {
  PlanBuilder b("f");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  std::string sum = long_sum(250);
  for (int i = 0; i < 100; ++i) b.launch("add_one", {x, y}, {sum, "N + 1", sum});
  b.step(SelectStep{b.expr(sum + " + 2"), 0, 0});
  std::string text = text_of(b.plan);
  std::string number = "$" + std::to_string(b.expr(sum));
  CHECK(text.find("  " + number + " = " + sum + "\n") != text.npos);
  CHECK(text.find(sum) == text.rfind(sum + "\n"));
  CHECK(text.find("99: launch @add_one(%x, %y) dims(" + number + ", N + 1, " + number + ")\n") != text.npos);
  CHECK(text.find("select " + sum + " + 2\n") != text.npos);
  size_t lines = 0;
  print_plan(b.plan, [&](std::string_view line) {
    CHECK((line.ends_with('\n') && line.find('\n') == line.size() - 1));
    ++lines;
  });
  CHECK(lines == 106);
}

TEST_CASE("no truncation or changed byte of a plan is misread", "[format]") {
  std::string bytes = encode_plan(full());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK_FALSE(decode_plan(std::string_view(bytes).substr(0, size)));
  }
  CHECK_FALSE(decode_plan(bytes + '\0'));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int flip : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[i] = char(changed[i] ^ flip);
      auto plan = decode_plan(changed);
      if (plan && encode_plan(*plan) != changed) FAIL("byte " << i << " has no meaning");
    }
  }
}

TEST_CASE("check_plan refuses what the interpreter could not follow", "[format]") {
  CHECK(refusal([](Plan&) {}) == "");
  CHECK(refusal([](Plan& p) { p.dims[1].name = "M"; }) == "plan: the dimension 'M' is there twice");
  CHECK(refusal([](Plan& p) { p.dims[1].name = "and"; }) ==
        "plan: the dimension name 'and' is malformed");
  CHECK(refusal([](Plan& p) { p.dims.push_back({"Q"}); }) ==
        "plan: dimension 'Q' is not an extent of an input or param");
  CHECK(refusal([](Plan& p) { p.dims[2].buffer = 1; }) ==
        "plan: dimension 'count' is not the value of a rank-0 integer input");
  CHECK(refusal([](Plan& p) {
          p.exprs[0].push_back({ExprOp::Add, 0});
        }) == "plan: expression 0: an operation finds too few values");
  CHECK(refusal([](Plan& p) { p.buffers[1].shape[0] = 99; }) ==
        "plan: an extent of buffer 1 is not an expression of the entry");
  CHECK(refusal([](Plan& p) { p.buffers[1].alignment = 3; }) == "plan: buffer 1 has alignment 3");
  CHECK(refusal([](Plan& p) { p.buffers[2].name = "x"; }) ==
        "plan: the buffer name 'x' is there twice");
  CHECK(refusal([](Plan& p) { p.buffers[6].offset = 64; }) ==
        "plan: constant 6 lies outside the data");
  CHECK(refusal([](Plan& p) { p.buffers[6].offset = 4; }) == "plan: constant 6 is not aligned");
  CHECK(refusal([](Plan& p) { p.buffers[7].last_step = 10; }) ==
        "plan: buffer 7 lives outside the steps");
  CHECK(refusal([](Plan& p) { p.buffers[7].first_step = 3; }) ==
        "plan: step 2: buffer 7 is not live here");
  CHECK(refusal([](Plan& p) { p.guards[0].message = "a\nb"; }) ==
        "plan: guard 0 has no printable message");
}

TEST_CASE("check_plan refuses steps that do not fit", "[format]") {
  CHECK(refusal([](Plan& p) { step<LaunchStep>(p, 2).kernel = 2; }) ==
        "plan: step 2: there is no kernel 2");
  CHECK(refusal([](Plan& p) { step<LaunchStep>(p, 2).buffers[0] = 10; }) ==
        "plan: step 2: there is no buffer 10");
  CHECK(refusal([](Plan& p) { step<LaunchStep>(p, 2).dims[0] = 50; }) ==
        "plan: step 2: there is no expression 50");
  CHECK(refusal([](Plan& p) { step<SelectStep>(p, 1).else_steps = 0xffffffff; }) ==
        "plan: step 1: its branches do not fit");
  CHECK(refusal([](Plan& p) { step<IfStep>(p, 7).buffer = 1; }) ==
        "plan: step 7: its condition is not a bool of one element");
  CHECK(refusal([](Plan& p) { step<ForStep>(p, 3).body_steps = 0; }) ==
        "plan: step 3: its body is empty or does not fit");
  CHECK(refusal([](Plan& p) { step<ForStep>(p, 3).dim = 0; }) ==
        "plan: step 3: it counts no loop dimension");
  CHECK(refusal([](Plan& p) { step<FillStep>(p, 6).width = 3; }) ==
        "plan: step 6: a pattern of 3 bytes");
  CHECK(refusal([](Plan& p) { step<FillStep>(p, 6).pattern = 256; }) ==
        "plan: step 6: its pattern exceeds its width");
  CHECK(refusal([](Plan& p) { step<CopyStep>(p, 8).to = 3; }) ==
        "plan: step 8: buffer 3 is only read");
  CHECK(refusal([](Plan& p) { step<AliasStep>(p, 0).of = 1; }) ==
        "plan: step 0: an output is a view of something other than a whole input or param");
  CHECK(refusal([](Plan& p) { step<AliasStep>(p, 0).of = 3; }) == "");  // a param that the entry updates
  CHECK(refusal([](Plan& p) { step<AliasStep>(p, 4).view = 1; }) ==
        "plan: step 4: a view that is neither temp nor output");
  CHECK(refusal([](Plan& p) { p.buffers[7].first_step = 1, p.buffers[7].last_step = 4; }) ==
        "plan: step 4: a view that outlives its buffer");
  CHECK(refusal([](Plan& p) {
          p.steps[1] = CopyStep{4, 7}, p.steps[2] = AliasStep{8, 7, 6};
        }) != "");
}

TEST_CASE("what a view may name is not written through it", "[format]") {
  // Buffers: 1 x and 2 state are inputs, 3 w is a param, 6 c a constant, 8 row a view in the loop of step 3.
  for (uint32_t kept : {1u, 3u, 6u}) {
    CHECK(refusal([&](Plan& p) {
            step<AliasStep>(p, 4).of = kept;
            p.steps[5] = FillStep{8, 1, 0};
          }) == "plan: step 5: buffer 8 is a view of what is only read");
  }
  CHECK(refusal([](Plan& p) { step<AliasStep>(p, 4).of = 3; }) == "");  // a launch that may only read it
  CHECK(refusal([](Plan& p) {  // what is donated is written
          step<AliasStep>(p, 4).of = 2;
          p.steps[5] = FillStep{8, 1, 0};
        }) == "");
  CHECK(refusal([](Plan& p) {  // through a view of a view, which a branch makes
          p.steps[2] = AliasStep{7, 3, step<AliasStep>(p, 0).offset};
          p.steps[5] = FillStep{8, 1, 0};
        }) == "plan: step 5: buffer 8 is a view of what is only read");
  CHECK(refusal([](Plan& p) {  // before the view is made
          p.steps[1] = CopyStep{7, 1};
          p.steps[2] = AliasStep{7, 3, step<AliasStep>(p, 0).offset};
        }) == "plan: step 1: buffer 7 is a view of what is only read");
  CHECK(refusal([](Plan& p) {
          p.steps[2] = AliasStep{7, 3, step<AliasStep>(p, 0).offset};
          p.steps[9] = FillStep{7, 1, 0};
        }) == "plan: step 9: buffer 7 is a view of what is only read");
}

TEST_CASE("loops limit where temps live and where their counters are read", "[format]") {
  CHECK(refusal([](Plan& p) { p.buffers[8].first_step = 0, p.buffers[8].last_step = 9; }) == "");
  CHECK(refusal([](Plan& p) { p.buffers[8].last_step = 6; }) == "");
  CHECK(refusal([](Plan& p) {
          p.buffers[8].first_step = 5;
          p.buffers[8].last_step = 6;
          p.steps[4] = FillStep{4, 1, 0};
        }) == "plan: buffer 8 lives in part of a loop only");
  CHECK(refusal([](Plan& p) { step<SelectStep>(p, 1).condition = step<AliasStep>(p, 4).offset; }) ==
        "plan: step 1: dimension 'i' is read outside its loop");
  CHECK(refusal([](Plan& p) { p.guards[0].condition = step<AliasStep>(p, 4).offset; }) ==
        "plan: guard 0 has no condition of the entry");
}

TEST_CASE("unknown steps are refused", "[format]") {
  Plan plan;
  plan.entry = "e";
  plan.target = "t";
  plan.buffers.resize(2);
  plan.buffers[0].kind = BufferKind::Input;
  plan.buffers[0].name = "x";
  plan.buffers[1].kind = BufferKind::Output;
  plan.buffers[1].name = "y";
  plan.steps = {CopyStep{1, 0}};
  std::string bytes = encode_plan(plan);
  REQUIRE(decode_plan(bytes));
  const std::string step("\x04\x00\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", 14);
  size_t at = bytes.rfind(step);
  REQUIRE(at != std::string::npos);
  auto refused = [&](size_t offset, std::string_view changed) {
    std::string other = bytes;
    other.replace(at + offset, changed.size(), changed);
    auto read = decode_plan(other);
    return read ? "" : read.error().text;
  };
  using namespace std::string_view_literals;
  CHECK(refused(0, "\x0b"sv) == "plan: step 0: opcode 11, a step of one device, is unknown");
  CHECK(refused(0, "\x46"sv) == "plan: step 0: opcode 70, a collective, is unknown");
  CHECK(refused(0, "\xff\xff"sv) == "plan: step 0: opcode 65535, one for experiments, is unknown");
  CHECK(refused(0, "\x00\x01"sv) == "plan: step 0: opcode 256, one that is kept for later versions, is unknown");
  CHECK(refused(2, "\x09"sv) == "plan: step 0 says 9 bytes and has 8");
  CHECK(refused(2, "\x00"sv) == "plan: step 0 says 0 bytes and has 8");
}

TEST_CASE("opcodes lie in the ranges of their kinds", "[format]") {
  uint32_t next = 0;
  for (const OpcodeRange& range : opcode_ranges) {
    CHECK(range.first == next);
    next = uint32_t(range.last) + 1;
  }
  CHECK(next == 65536);
  for (size_t i = 1; i < step_infos.size(); ++i) CHECK(step_infos[i - 1].opcode < step_infos[i].opcode);
  CHECK(step_infos.back().opcode <= 95);
}

TEST_CASE("a plan of another version says to compile again", "[format]") {
  std::string bytes = encode_plan(full());
  for (char version : {char(1), char(3)}) {
    bytes[8] = version;
    CHECK(decode_plan(bytes).error().text == "plan: it has version " + std::to_string(version) +
                                                 ", and this build reads 2: compile the source with a tesserac of "
                                                 "this build");
  }
}

namespace {

/// Two devices with all steps that no device of one has.
Plan of_two_devices() {
  PlanBuilder b("two");
  b.plan.devices = 2;
  b.plan.events = 1;
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t there = b.temp({"N"}, 2, 5);
  uint32_t sum = b.temp({"N"}, 3, 5);
  uint32_t staged = b.temp({"N"}, 4, 6);
  uint32_t y = b.output("y", {"N"});
  b.plan.buffers[there].device = b.plan.buffers[sum].device = 1;
  b.plan.buffers[staged].space = MemorySpace::Host;
  b.step(RecordStep{0, 0, 1});                                                          // 0
  b.step(WaitStep{0, 1, 0});                                                            // 1
  b.step(PeerCopyStep{there, x, 2});                                                    // 2
  b.step(CollectiveStep{CollectiveKind::AllReduce, CollectiveCombine::Sum, "data", sum, there, 1, 0});  // 3
  b.step(HostCallStep{"look", {x, staged}, 1});                                         // 4
  b.step(ExternalStep{"libblas.so", "scale", {there, sum}, 1, {b.expr("N")}, 1, 0});    // 5
  b.step(CopyStep{y, staged});                                                          // 6
  return b.plan;
}

std::string refusal_of_two(const std::function<void(Plan&)>& change) { return refusal_of(of_two_devices(), change); }

}  // namespace

TEST_CASE("steps of several devices are read back as they were written", "[format]") {
  Plan plan = of_two_devices();
  std::string bytes = read_back(plan);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = char(changed[i] ^ 1);
    auto other = decode_plan(changed);
    if (other && encode_plan(*other) != changed) FAIL("byte " << i << " has no meaning");
  }
  CHECK(text_of(plan) == R"(plan @two target(cpu:x86-64-v3) version(2) {
  devices 2
  input %x: f32[N]
  temp %t1: f32[N] live(2 .. 5) device(1)
  temp %t2: f32[N] live(3 .. 5) device(1)
  temp %t3: f32[N] live(4 .. 6) space(host)
  output %y: f32[N]
  0: record event 0 stream(1)
  1: wait for event 0 device(1)
  2: copy between devices %t1 <- %x stream(2)
  3: all_reduce sum along data %t2 <- %t1 device(1)
  4: call host @look(%x, %t3) results(1)
  5: call 'libblas.so' @scale(%t1, %t2) results(1) dims(N) device(1)
  6: copy %y <- %t3
}
)");
}

TEST_CASE("check_plan refuses steps of several devices that do not fit", "[format]") {
  CHECK(refusal_of_two([](Plan&) {}) == "");
  CHECK(refusal_of_two([](Plan& p) { p.devices = 0; }) == "plan: it is for 0 devices");
  CHECK(refusal_of_two([](Plan& p) { p.devices = 1; }) == "plan: buffer 1 is on device 1, which is none");
  CHECK(refusal_of_two([](Plan& p) { p.events = 2; }) == "plan: no step records event 1");
  CHECK(refusal_of_two([](Plan& p) { p.events = 0; }) == "plan: step 0: there is no event 0");
  CHECK(refusal_of_two([](Plan& p) { step<RecordStep>(p, 0).device = 2; }) == "plan: step 0: there is no device 2");
  CHECK(refusal_of_two([](Plan& p) { p.steps[1] = RecordStep{0, 0, 0}; }) ==
        "plan: step 1: event 0 is recorded before");
  CHECK(refusal_of_two([](Plan& p) { std::swap(p.steps[0], p.steps[1]); }) ==
        "plan: step 0: no step before records event 0");
  CHECK(refusal_of_two([](Plan& p) { step<PeerCopyStep>(p, 2).from = 2; }) ==
        "plan: step 2: buffer 2 is not live here");
  CHECK(refusal_of_two([](Plan& p) { p.buffers[1].device = 0; }) ==
        "plan: step 2: a copy between devices of two buffers of one");
  CHECK(refusal_of_two([](Plan& p) { step<PeerCopyStep>(p, 2).to = 0; }) == "plan: step 2: buffer 0 is only read");
  CHECK(refusal_of_two([](Plan& p) { step<CollectiveStep>(p, 3).combine = CollectiveCombine::None; }) ==
        "plan: step 3: a collective combines by nothing");
  CHECK(refusal_of_two([](Plan& p) { step<CollectiveStep>(p, 3).kind = CollectiveKind::AllToAll; }) ==
        "plan: step 3: a collective combines what it moves");
  CHECK(refusal_of_two([](Plan& p) { step<CollectiveStep>(p, 3).axis = "a b"; }) ==
        "plan: step 3: the axis of a collective is malformed");
  CHECK(refusal_of_two([](Plan& p) { step<CollectiveStep>(p, 3).device = 0; }) ==
        "plan: step 3: buffer 1 is on device 1, and the step on 0");
  CHECK(refusal_of_two([](Plan& p) { p.buffers[2].dtype = Dtype::I32; }) == "plan: step 3: a collective of two dtypes");
  CHECK(refusal_of_two([](Plan& p) { p.buffers[2].shape.push_back(p.buffers[2].shape[0]); }) ==
        "plan: step 3: a collective of two shapes");
  CHECK(refusal_of_two([](Plan& p) { step<HostCallStep>(p, 4).function = ""; }) ==
        "plan: step 4: what it calls has no printable name");
  CHECK(refusal_of_two([](Plan& p) { step<HostCallStep>(p, 4).results = 2; }) == "plan: step 4: buffer 0 is only read");
  CHECK(refusal_of_two([](Plan& p) { step<HostCallStep>(p, 4).results = 3; }) ==
        "plan: step 4: it has fewer buffers than results");
  CHECK(refusal_of_two([](Plan& p) { step<ExternalStep>(p, 5).library = "a\nb"; }) ==
        "plan: step 5: what it calls has no printable name");
  CHECK(refusal_of_two([](Plan& p) { step<ExternalStep>(p, 5).device = 0; }) ==
        "plan: step 5: buffer 1 is on device 1, and the step on 0");
  CHECK(refusal_of_two([](Plan& p) { step<ExternalStep>(p, 5).dims = {99}; }) ==
        "plan: step 5: there is no expression 99");
  CHECK(refusal_of_two([](Plan& p) { step<CopyStep>(p, 6).from = 2, p.buffers[2].last_step = 6; }) ==
        "plan: step 6: a copy of two devices");
  CHECK(refusal_of_two([](Plan& p) {
          p.steps[5] = AliasStep{3, 2, intern_expr(p, const_expr(0))};
        }) == "plan: step 5: a view of memory elsewhere");
  CHECK(refusal([](Plan& p) {
          p.events = 1;
          p.steps[5] = RecordStep{0, 0, 0};
        }) == "plan: step 5: an event is recorded in a branch or a loop");
}

TEST_CASE("steps that are not run yet are refused by name when a bundle is loaded", "[runtime]") {
  auto refused = [](const std::function<void(PlanBuilder&)>& add) {
    PlanBuilder b("f");
    b.dim("N");
    uint32_t x = b.input("x", {"N"});
    uint32_t y = b.output("y", {"N"});
    b.step(CopyStep{y, x});
    add(b);
    std::string bundle = make_bundle({b.plan});
    tsr_context_t context = nullptr;
    REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
    tsr_module_t module = nullptr;
    tsr_status_t status = tsrLoadModule(context, bundle.data(), bundle.size(), &module);
    std::string text = last_error();
    CHECK(status == TSR_EIMAGE);
    tsrDestroyContext(context);
    return text;
  };
  auto said = [](const std::string& what) {
    return "the plan of 'f' cannot be run: " + what + ", which this library does not run yet";
  };
  CHECK(refused([](PlanBuilder& b) {
          b.plan.events = 1;
          b.step(RecordStep{0, 0, 0});
        }) == said("step 1 is a record of an event"));
  CHECK(refused([](PlanBuilder& b) { b.step(HostCallStep{"g", {0}, 0}); }) ==
        said("step 1 is a call of a function of the host"));
  CHECK(refused([](PlanBuilder& b) { b.step(ExternalStep{"lib", "g", {0}, 0, {}, 0, 0}); }) ==
        said("step 1 is a call of an external library"));
  CHECK(refused([](PlanBuilder& b) {
          b.step(CollectiveStep{CollectiveKind::Broadcast, CollectiveCombine::None, "data", 1, 0, 0, 0});
        }) == said("step 1 is a collective"));
  CHECK(refused([](PlanBuilder& b) { b.plan.devices = 2; }) == said("it is for 2 devices"));
  CHECK(refused([](PlanBuilder& b) { b.plan.buffers[0].space = MemorySpace::Host; }) ==
        said("buffer 'x' is in memory of the host"));
}

namespace {

/// A loop that exchanges two temps as long as a condition holds, and a check.
Plan looping() {
  PlanBuilder b("looping");
  b.dim("N");
  uint32_t x = b.input("x", {"N"});
  uint32_t y = b.output("y", {"N"});
  uint32_t now = b.temp({"N"}, 0, 7);
  uint32_t next = b.temp({"N"}, 0, 7);
  uint32_t truth = b.temp({}, 2, 2, Dtype::Bool);
  uint32_t fine = b.temp({}, 5, 6, Dtype::Bool);
  b.step(CopyStep{now, x});               // 0
  b.step(WhileStep{truth, 1, 2});         // 1
  b.step(FillStep{truth, 1, 0});          // 2
  b.launch("add_one", {now, next}, {"N"});  // 3
  b.step(SwapStep{now, next});            // 4
  b.step(FillStep{fine, 1, 1});           // 5
  b.step(CheckStep{fine, "it is fine"});  // 6
  b.step(CopyStep{y, now});               // 7
  return b.plan;
}

std::string refusal_of_loop(const std::function<void(Plan&)>& change) { return refusal_of(looping(), change); }

}  // namespace

TEST_CASE("loops, checks and exchanges are read back as they were written", "[format]") {
  read_back(looping());
  CHECK(text_of(looping()).find("while") != std::string::npos);
}

TEST_CASE("check_plan refuses loops and exchanges that would not hold", "[format]") {
  CHECK(refusal_of_loop([](Plan&) {}) == "");
  CHECK(refusal_of_loop([](Plan& p) { step<WhileStep>(p, 1).body_steps = 99; }) ==
        "plan: step 1: its body is empty or does not fit");
  CHECK(refusal_of_loop([](Plan& p) { step<WhileStep>(p, 1).buffer = 0; }) ==
        "plan: step 2: its condition is not a bool of one element");
  CHECK(refusal_of_loop([](Plan& p) { p.buffers[4].first_step = p.buffers[4].last_step = 3; }) ==
        "plan: step 2: buffer 4 is not live here");
  CHECK(refusal_of_loop([](Plan& p) { step<SwapStep>(p, 4).b = 2; }) ==
        "plan: step 4: it exchanges buffers that are not alike");
  CHECK(refusal_of_loop([](Plan& p) { step<SwapStep>(p, 4).b = 1; }) ==
        "plan: step 4: it exchanges buffers that are not alike");
  CHECK(refusal_of_loop([](Plan& p) { p.buffers[3].last_step = 6; }) ==
        "plan: step 4: it exchanges buffers that are not alike");
  CHECK(refusal_of_loop([](Plan& p) { p.buffers[3].first_step = 2; }) ==
        "plan: step 4: it exchanges buffers that are not alike");
  CHECK(refusal_of_loop([](Plan& p) { step<CheckStep>(p, 6).message = ""; }) ==
        "plan: step 6: it has no printable message");
  CHECK(refusal_of_loop([](Plan& p) { step<CheckStep>(p, 6).buffer = 2; }) ==
        "plan: step 6: its condition is not a bool of one element");
  CHECK(refusal_of_loop([](Plan& p) { step<CopyStep>(p, 7).to = 0; }) == "plan: step 7: buffer 0 is only read");
  CHECK(refusal_of_loop([](Plan& p) {
          p.steps[5] = AliasStep{3, 2, intern_expr(p, const_expr(0))};
        }) == "plan: step 4: it exchanges buffers that are not alike");
}

TEST_CASE("prints are read back as they were written, and refused where they look at nothing", "[format]") {
  auto printing = [] {
    PlanBuilder b("printing");
    b.dim("N");
    b.input("x", {"N"});
    uint32_t values = b.temp({"N", "1", "4"}, 0, 2), shown = b.temp({"N", "1", "4"}, 1, 2, Dtype::Bool);
    b.step(FillStep{values, 4, 0});
    b.step(FillStep{shown, 1, 1});
    b.step(PrintStep{{b.expr("N")}, {{"v", "f.tsr:1:2", values, shown, {b.expr("N")}, {b.expr("3*N")}, 0}}});
    return b.plan;
  };
  read_back(printing());
  CHECK(text_of(printing()).find(": print of programs [N]") != std::string::npos);
  CHECK(text_of(printing()).find(" of [N] trip_counts [3*N]") != std::string::npos);
  auto refusal_of = [&](const std::function<void(PrintStep&)>& change) {
    Plan plan = printing();
    change(step<PrintStep>(plan, 2));
    Outcome checked = check_plan(plan);
    return checked ? "" : checked.error().text;
  };
  CHECK(refusal_of([](PrintStep& p) { p.items.clear(); }) == "plan: step 2: it prints nothing");
  CHECK(refusal_of([](PrintStep& p) { p.grid = {99}; }) == "plan: step 2: there is no expression 99");
  CHECK(refusal_of([](PrintStep& p) { p.items[0].values = 99; }) == "plan: step 2: there is no buffer 99");
  const std::string malformed = "plan: step 2: what it prints is malformed";
  CHECK(refusal_of([](PrintStep& p) { p.items[0].label = "a\nb"; }) == malformed);
  CHECK(refusal_of([](PrintStep& p) { p.items[0].label = "\x1b[2J"; }) == malformed);
  CHECK(refusal_of([](PrintStep& p) { p.items[0].shown = p.items[0].values; }) == malformed);
  CHECK(refusal_of([](PrintStep& p) { p.items[0].extents.clear(); }) == malformed);
  CHECK(refusal_of([](PrintStep& p) { p.items[0].loop = 1; }) == malformed);
}
