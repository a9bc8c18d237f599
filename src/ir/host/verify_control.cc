#include "ir/core/verify_control.h"
#include "ir/host/verify.h"

namespace tessera::host {

void verify_check(Op* op, OpVerifier& verifier) {
  expect_condition(verifier, op->in(in::Check::condition));
}

void verify_for(Op* op, OpVerifier& verifier) {
  expect_loop(verifier, op, in::For::inits, at::For::body, info(OpKind::Yield));
}

void verify_while(Op* op, OpVerifier& verifier) {
  expect_while(verifier, op, in::While::inits, at::While::condition, at::While::body, info(OpKind::Yield));
}

void verify_if(Op* op, OpVerifier& verifier) {
  std::vector<Type> taken;
  for (Value* value : op->ins(in::If::over)) taken.push_back(value->type());
  if (!expect_branches(verifier, op, at::If::then, at::If::otherwise, info(OpKind::Yield), taken)) return;
  verify_places(op, verifier);
}

void verify_yield(Op* op, OpVerifier& verifier) {
  bool ends = op->parent() && op->parent()->info().level == Level::Host && !op->parent()->is(info(OpKind::Func));
  if (!ends) verifier.error("it ends a region of a loop or a branch");
}

}  // namespace tessera::host
