// Random numbers as arithmetic: the same bits as the ops they replace.

#include "ir/numbers/philox.h"
#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

namespace {

TensorValue seed_of(uint64_t seed) {
  TensorValue value = std::move(*TensorValue::make(DType::U64, {}));
  value.set(0, {.i = int64_t(seed)});
  return value;
}

void check_draw(const std::string& op, const std::string& type, uint64_t seed, int64_t stream,
                const std::string& parameter, const std::vector<int64_t>& dims) {
  GraphPassTest test;
  INFO(op << " " << type << " seed " << seed << " stream " << stream);
  std::vector<TensorValue> arguments;
  arguments.push_back(seed_of(seed));
  arguments.push_back(some_tensor(DType::F32, dims));
  std::string body = "%n: " + type + " = " + op + " %s {stream = " + std::to_string(stream) + "}\n" +
                     "gir.return [%n]";
  for (const char* pipeline : {"decompose_random", "decompose_random,canonicalize,cse,dce"}) {
    Op* f = test.check_pipeline(pipeline, {"%s: tensor<u64>", "%x: " + parameter}, body, arguments);
    CHECK(test.count(f, op) == 0);
  }
}

}  // namespace

TEST_CASE("decomposed random numbers have the same bits") {
  for (const char* op : {"gir.philox_uniform", "gir.philox_normal"}) {
    check_draw(op, "tensor<A x 7 x B, f32>", 42, 3, "tensor<A x B, f32>", {5, 3});
    check_draw(op, "tensor<A*B, f32>", 0xFEDCBA9876543210, -1, "tensor<A x B, f32>", {31, 9});
    check_draw(op, "tensor<1 x A, f32>", ~uint64_t(0), int64_t(0x8000000000000000), "tensor<A, f32>", {10});
    check_draw(op, "tensor<f32>", 7, 0, "tensor<A, f32>", {1});
    check_draw(op, "tensor<A, f32>", 7, 0, "tensor<A, f32>", {0});
  }
}

TEST_CASE("decomposed random numbers are the same references in f64") {
  GraphPassTest test;
  for (const char* op : {"gir.philox_uniform", "gir.philox_normal"}) {
    std::string body = std::string("%n: tensor<37, f32> = ") + op + " %s {stream = 5}\ngir.return [%n]";
    Op* before = test.function({"%s: tensor<u64>"}, body);
    Op* after = test.function({"%s: tensor<u64>"}, body);
    test.run(after, "decompose_random");
    std::vector<TensorValue> arguments;
    arguments.push_back(seed_of(1234567));
    check_same(test.evaluate(after, arguments, graph::EvalMode::F64)[0],
               test.evaluate(before, arguments, graph::EvalMode::F64)[0]);
  }
}

TEST_CASE("initialisers keep their random ops") {
  GraphPassTest test;
  std::string text = test.function_text({"%s: tensor<u64>"},
                                        "%n: tensor<4, f32> = gir.philox_normal %s {stream = 5}\n"
                                        "gir.return [%n]");
  text.replace(text.find("role = \"entry\""), 14, "role = \"init\", params = [\"w\"]");
  Module* module = test.parse(text);
  INFO(test.messages());
  REQUIRE(module);
  test.run(module->body()->front(), "decompose_random");
  CHECK(test.count(module->body()->front(), "gir.philox_normal") == 1);
}
