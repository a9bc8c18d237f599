// Who owns memory in a host program. A buffer belongs to the block in which it is made, or, when it is carried by a
// loop, to that loop's region; a donated argument belongs to the function. Only there it may be taken over, once, and
// what is taken is not read again. An interpreter that gave every result memory of its own would compute the same.

#include <set>

#include "ir/host/verify.h"
#include "ir/text/entries.h"
#include "support/check.h"

namespace tessera::host {

namespace {

using entry::Argument;

/// The operands whose memory an op takes.
std::vector<Value*> taken_by(Op* op) {
  switch (kind_of(op)) {
    case OpKind::Launch: return op->ins(in::Launch::over);
    case OpKind::Copy: return op->ins(in::Copy::over);
    case OpKind::For: return op->ins(in::For::inits);
    case OpKind::While: return op->ins(in::While::inits);
    case OpKind::If: return op->ins(in::If::over);
    case OpKind::Func:
    case OpKind::Return:
    case OpKind::Alias:
    case OpKind::Fill:
    case OpKind::Constant:
    case OpKind::Check:
    case OpKind::Print:
    case OpKind::Yield: return {};
  }
  TSR_UNREACHABLE("unknown op");
}

class MemoryChecker {
 public:
  MemoryChecker(Op* function, OpVerifier& verifier) : function_(function), verifier_(verifier) {}

  void run() {
    Block* body = function_->region()->front();
    check_block(body);
    if (!verifier_.failed()) check_results(body->terminator());
  }

 private:
  void check_block(Block* block) {
    for (Op* op : *block) {
      if (op->info().level != Level::Host) continue;
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        if (gone_.count(root_of(op->operand(i)))) return report(op, "it reads memory that was taken over before");
      }
      for (Value* value : taken_by(op)) {
        Value* root = root_of(value);
        if (!is_owner(block, root)) return report(op, "it takes memory that this block does not own");
        if (!gone_.insert(root).second) return report(op, "it takes the same memory twice");
      }
      for (unsigned r = 0; r < op->region_count(); ++r) check_block(op->region(r)->front());
      if (verifier_.failed()) return;
    }
  }

  bool is_owner(Block* block, Value* root) const {
    if (root->parent_block() != block) return false;
    if (Op* def = root->def()) return !def->is(info(OpKind::Constant));
    Op* around = block->parent_op();
    if (around != function_) return true;  // carried by a loop
    return entry::read(function_->attr(attr::Func::args)[root->index()], Argument::donated);
  }

  /// The argument in whose memory a value lies; null if in none's.
  Value* argument_of(Value* value) const {
    Value* root = root_of(value);
    for (Value* before = memory_before(root); before; before = memory_before(root)) root = root_of(before);
    return root->def() ? nullptr : root;
  }

  void check_results(Op* end) {
    const std::vector<Attr>& args = function_->attr(attr::Func::args);
    const std::vector<Attr>& results = function_->attr(attr::Func::results);
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      Value* argument = argument_of(end->operand(i));
      std::string_view donor = entry::text_of(results[i], entry::Result::alias_of);
      Attr memory = argument ? args[argument->index()] : nullptr;
      bool donated = memory && entry::read(memory, Argument::donated);
      if (donor.empty() ? !donated : memory && entry::read(memory, Argument::name) == donor) continue;
      report(end, donor.empty() ? "a result lies in donated memory and does not say so"
                                : "a result does not lie in the memory it is said to have");
    }
  }

  void report(Op* op, std::string_view what) {
    verifier_.of(op).error("{}", what);
    verifier_.fail();
  }

  Op* function_;
  OpVerifier& verifier_;
  std::set<Value*> gone_;  ///< roots
};

}  // namespace

void verify_memory(Op* function, OpVerifier& verifier) { MemoryChecker(function, verifier).run(); }

}  // namespace tessera::host
