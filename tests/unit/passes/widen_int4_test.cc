// widen_int4: no op computes in i4 any more, and every bit is the same.

#include "unit/passes/graph_pass_fixture.h"

using namespace tessera;

namespace {

/// Some numbers, among them ones that i4 does not have, cast to i4 in two ways and used as `body` says.
void check(const std::string& body) {
  for (DType dtype : {DType::F32, DType::BF16, DType::I8, DType::I32, DType::U8, DType::U64}) {
    GraphPassTest test;
    std::vector<TensorValue> arguments;
    arguments.push_back(probing_tensor(dtype, 1));
    arguments.push_back(probing_tensor(dtype, 2));
    std::string type = "tensor<N, " + std::string(to_string(dtype)) + ">";
    INFO(type << " " << body);
    Op* f = test.check_pipeline("widen_int4", {"%x: " + type, "%y: " + type},
                                "%a: tensor<N, i4> = gir.cast %x\n%b: tensor<N, i4> = gir.cast %y\n" + body +
                                    "gir.return [%r]",
                                arguments);
    walk(f, [](Op* op) {
      for (unsigned i = 0; i < op->result_count(); ++i) CHECK(op->result(i)->type()->dtype != DType::I4);
    });
  }
}

}  // namespace

TEST_CASE("numbers of 4 bits are cast, computed with and compared in 8") {
  for (const char* op :
       {"add", "sub", "mul", "min", "max", "div", "floor_div", "mod", "and", "or", "xor", "shl", "shr"}) {
    check("%c: tensor<N, i4> = gir." + std::string(op) + " %a, %b\n%r: tensor<N, i32> = gir.cast %c\n");
  }
  for (const char* op : {"neg", "abs", "not", "sign", "relu"}) {
    check("%c: tensor<N, i4> = gir." + std::string(op) + " %a\n%r: tensor<N, f32> = gir.cast %c\n");
  }
  check("%r: tensor<N, bool> = gir.lt %a, %b\n");
  check("%c: tensor<N, u8> = gir.cast %a\n%d: tensor<N, i4> = gir.cast %c\n%r: tensor<N, i64> = gir.cast %d\n");
}

TEST_CASE("numbers of 4 bits are reduced, moved and carried in 8") {
  for (const char* kind : {"sum", "prod", "max", "min"}) {
    check("%c: tensor<i4> = gir.reduce %a {kind = \"" + std::string(kind) +
          "\", axes = [0]}\n%r: tensor<i32> = gir.cast %c\n");
  }
  check("%c: tensor<N x 1, i4> = gir.reshape %a\n%d: tensor<N x 3, i4> = gir.broadcast %c\n"
        "%e: tensor<N x 3, i4> = gir.iota {axis = 1}\n%f: tensor<N x 3, i4> = gir.add %d, %e\n"
        "%r: tensor<N x 3, i16> = gir.cast %f\n");
  check("%c: tensor<N, i4> = gir.for [%a] {count = 5, counter = \"i\"} do(%h: tensor<N, i4>) { "
        "%d: tensor<N, i4> = gir.add %h, %b gir.yield [%d] }\n%r: tensor<N, i8> = gir.cast %c\n");
}
