#include "ir/host/verify.h"

namespace tessera::host {

namespace {

bool expect_body(Op* op, OpVerifier& verifier, unsigned region, std::span<const Type> carried,
                 std::span<const Type> yielded) {
  return expect_region(verifier, op, region, info(OpKind::Yield), carried, yielded);
}

}  // namespace

void verify_check(Op* op, OpVerifier& verifier) {
  expect_condition(verifier, op->in(in::Check::condition)->type());
}

void verify_for(Op* op, OpVerifier& verifier) {
  if (!expect_carried(verifier, op, in::For::inits)) return;
  std::vector<Type> types = types_of(op->ins(in::For::inits));
  expect_body(op, verifier, at::For::body, types, types);
}

void verify_while(Op* op, OpVerifier& verifier) {
  if (!expect_carried(verifier, op, in::While::inits)) return;
  std::vector<Type> types = types_of(op->ins(in::While::inits));
  std::vector<Type> truth = {op->module()->context().tensor({}, DType::Bool)};
  expect_body(op, verifier, at::While::condition, types, truth) &&
      expect_body(op, verifier, at::While::body, types, types);
}

void verify_if(Op* op, OpVerifier& verifier) {
  std::vector<Type> types;
  for (unsigned i = 0; i < op->result_count(); ++i) types.push_back(op->result(i)->type());
  expect_condition(verifier, op->in(in::If::condition)->type()) &&
      expect_body(op, verifier, at::If::then, {}, types) &&
      expect_body(op, verifier, at::If::otherwise, {}, types);
}

void verify_yield(Op* op, OpVerifier& verifier) {
  bool ends = op->parent() && op->parent()->info().level == Level::Host && !op->parent()->is(info(OpKind::Func));
  if (!ends) verifier.error("it ends a region of a loop or a branch");
}

}  // namespace tessera::host
