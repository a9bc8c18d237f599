#include "ir/host/verify.h"
#include "ir/text/entries.h"
#include "ir/text/verify_control.h"

namespace tessera::host {

void verify_check(Op* op, OpVerifier& verifier) {
  expect_condition(verifier, op->in(in::Check::condition));
}

namespace {

/// A dtype that lines are made of (runtime/format/print_text.h).
bool is_printed(DType dtype) { return dtype == DType::Bool || (byte_size(dtype) >= 4 && dtype != DType::TF32); }

/// The facts of an item, except for its buffers.
bool is_item(Attr item, size_t number, size_t rank) {
  using entry::PrintItem;
  if (!entry::problem_of(item, entry::Dict::PrintItem).empty()) return false;
  int64_t loop = entry::read(item, PrintItem::loop);
  return loop >= 0 && loop <= int64_t(number) && entry::read(item, PrintItem::extents).size() + 2 == rank;
}

}  // namespace

void verify_print(Op* op, OpVerifier& verifier) {
  const std::vector<Attr>& items = op->attr(attr::Print::items);
  size_t count = items.size();
  if (!count || op->slot_size(in::Print::values) != count || op->slot_size(in::Print::shown) != count) {
    return verifier.error("it has {} items, and {} and {} buffers", count, op->slot_size(in::Print::values),
                          op->slot_size(in::Print::shown));
  }
  for (unsigned i = 0; i < count; ++i) {
    Type values = op->in(in::Print::values, i)->type(), shown = op->in(in::Print::shown, i)->type();
    if (!is_printed(values->dtype)) verifier.error("item {} is {}, which is not printed", i, to_string(values->dtype));
    if (shown->dtype != DType::Bool || values->dims != shown->dims) {
      verifier.error("item {} is shown where {} says, which is not a bool of the dims of {}", i, shown->text,
                     values->text);
    }
    if (!is_item(items[i], i, shown->rank())) verifier.error("item {} is malformed: {}", i, items[i]->text);
  }
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
  BranchChoice choice{op->in(in::If::condition), !op->attr(attr::If::when).empty()};
  if (!expect_branches(verifier, op, choice, at::If::then, at::If::otherwise, info(OpKind::Yield), taken)) return;
  verify_places(op, verifier);
}

void verify_yield(Op* op, OpVerifier& verifier) {
  bool ends = op->parent() && op->parent()->info().level == Level::Host && !op->parent()->is(info(OpKind::Func));
  if (!ends) verifier.error("it ends a region of a loop or a branch");
}

}  // namespace tessera::host
