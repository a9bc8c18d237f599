// State and control flow.

#include <algorithm>
#include <cctype>

#include "ir/core/dim_facts.h"
#include "ir/graph/ops.h"
#include "ir/graph/verify.h"
#include "ir/text/dim_conditions.h"
#include "ir/text/verify_control.h"

namespace tessera::graph {

Op* function_of(Op* op) {
  while (Op* parent = op->parent()) op = parent;
  return op;
}

std::vector<DimFact> facts_around(Op* op) {
  DimTable& dims = op->module()->context().dims();
  std::vector<DimFact> facts;
  auto add = [&](std::span<const DimFact> more) { facts.insert(facts.end(), more.begin(), more.end()); };
  for (Op *inner = op, *around = op->parent(); around; inner = around, around = around->parent()) {
    if (around->is(info(OpKind::For))) {
      facts.push_back({Relation::Less, dims.symbol(around->attr(attr::For::counter)), around->attr(attr::For::count)});
    } else if (around->is(info(OpKind::Cond)) && around->has(attr::Cond::when)) {
      bool is_taken = inner->block()->region() == around->region(at::Cond::then);
      add(facts_of_branch(dims, read_facts(around->attr(attr::Cond::when)), is_taken));
    } else if (around->is(info(OpKind::Func))) {
      add(read_facts(around->attr(attr::Func::guards)));
    }
  }
  return facts;
}

namespace {

bool is_dim_name(std::string_view text) {
  auto is_letter = [](unsigned char c) { return c < 0x80 && (std::isalpha(c) || c == '_'); };
  auto is_part = [&](unsigned char c) { return is_letter(c) || std::isdigit(c); };
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_part);
}

}  // namespace

void verify_update_slice(Op* op, OpVerifier& verifier) {
  Type buffer = op->in(in::UpdateSlice::buffer)->type();
  Type update = op->in(in::UpdateSlice::update)->type();
  Type start = op->in(in::UpdateSlice::start)->type();
  int64_t axis = op->attr(attr::UpdateSlice::axis);
  if (!expect_inferred(op, verifier)) return;
  if (update->dtype != buffer->dtype || update->rank() != buffer->rank()) {
    return verifier.error("{} is not part of {}", update->text, buffer->text);
  }
  if (start->dtype != DType::I64 || start->rank() != 0) {
    verifier.error("the start must be tensor<i64>, not {}", start->text);
  }
  if (axis < 0 || axis >= int64_t(buffer->rank())) {
    return verifier.error("axis {} is outside 0 to {}", axis, int64_t(buffer->rank()) - 1);
  }
  DimTable& dims = op->module()->context().dims();
  std::vector<DimFact> known = facts_around(op);
  for (size_t i = 0; i < buffer->rank(); ++i) {
    DimFact fits{Relation::LessEqual, update->dims[i], buffer->dims[i]};
    if (decide(dims, fits, known) == true) continue;
    verifier.error("nothing says that {}, the extents along axis {}", fits.text(), i);
  }
}

void verify_barrier(Op* op, OpVerifier& verifier) { expect_inferred(op, verifier); }

void verify_check(Op* op, OpVerifier& verifier) {
  expect_condition(verifier, op->in(in::Check::condition));
}

void verify_for(Op* op, OpVerifier& verifier) {
  if (!expect_loop(verifier, op, in::For::inits, at::For::body, info(OpKind::Yield))) return;
  std::string_view counter = op->attr(attr::For::counter);
  if (!is_dim_name(counter)) return verifier.error("'{}' is not a name of a dim", counter);
  for (Op* around = op->parent(); around; around = around->parent()) {
    if (around->is(info(OpKind::For)) && around->attr(attr::For::counter) == counter) {
      return verifier.error("the loop around it counts '{}', too", counter);
    }
  }
  for (unsigned i = 0; i < function_of(op)->region()->front()->arg_count(); ++i) {
    for (Dim dim : function_of(op)->region()->front()->arg(i)->type()->dims) {
      if (mentions(dim, counter)) return verifier.error("'{}' is a dim of the function", counter);
    }
  }
  walk(op, [&](Op* inner) {
    for (unsigned i = 0; i < inner->result_count() && !verifier.failed(); ++i) {
      for (Dim dim : inner->result(i)->type()->dims) {
        if (mentions(dim, counter)) verifier.error("{} depends on its counter", inner->result(i)->type()->text);
      }
    }
  });
}

void verify_while(Op* op, OpVerifier& verifier) {
  expect_while(verifier, op, in::While::inits, at::While::condition, at::While::body, info(OpKind::Yield));
}

void verify_cond(Op* op, OpVerifier& verifier) {
  BranchChoice choice{op->in(in::Cond::condition), !op->attr(attr::Cond::when).empty()};
  expect_branches(verifier, op, choice, at::Cond::then, at::Cond::otherwise, info(OpKind::Yield));
}

void verify_while_built(Op*, OpVerifier& verifier) { verifier.error("it is there only while a graph is built"); }

void verify_yield(Op* op, OpVerifier& verifier) {
  bool ends = op->parent() && op->parent()->info().level == Level::Graph &&
              kind_of(op->parent()) != OpKind::Func;
  if (!ends) verifier.error("it ends a region of a loop or a branch");
}

}  // namespace tessera::graph
