#include "passes/analysis/kernels.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/core/common_attributes.h"
#include "ir/text/substitute.h"
#include "ir/text/symbols.h"

namespace tessera {

namespace {

/// A list of names, each once, in order.
class NameList {
 public:
  template <typename T>
  void add(T of) {
    for_each_symbol(of, [&](std::string_view name) {
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.emplace_back(name);
    });
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
};

/// Walks two kernels side by side, pairing their values.
class Comparison {
 public:
  bool same_op(Op* a, Op* b) {
    if (&a->info() != &b->info() || a->operand_count() != b->operand_count() ||
        a->result_count() != b->result_count() || a->slot_count() != b->slot_count()) {
      return false;
    }
    for (unsigned s = 0; s < a->slot_count(); ++s) {
      if (a->slot_size(s) != b->slot_size(s)) return false;
    }
    for (unsigned i = 0; i < a->operand_count(); ++i) {
      auto it = pairs_.find(a->operand(i));
      if (it == pairs_.end() || it->second != b->operand(i)) return false;
    }
    for (unsigned i = 0; i < a->result_count(); ++i) {
      if (!pair(a->result(i), b->result(i))) return false;
    }
    if (!same_attributes(a, b)) return false;
    for (unsigned r = 0; r < a->region_count(); ++r) {
      if (!same_region(a->region(r), b->region(r))) return false;
    }
    return true;
  }

 private:
  bool pair(Value* a, Value* b) {
    pairs_[a] = b;
    return a->type() == b->type();
  }

  bool same_attributes(Op* a, Op* b) {
    if (a->info().has(Function)) return computing(a) == computing(b);
    return std::ranges::equal(a->attributes(), b->attributes(), [](const OpAttr& x, const OpAttr& y) {
      return x.name == y.name && x.value == y.value;
    });
  }

  /// The attributes of a kernel but its name and those that say where its source is.
  static std::vector<std::pair<std::string_view, Attr>> computing(Op* kernel) {
    std::vector<std::pair<std::string_view, Attr>> found;
    for (const OpAttr& each : kernel->attributes()) {
      bool is_of_source = each.name == common::Function::symbol.name || each.name == common::Kernel::key_places.name;
      if (!is_of_source) found.emplace_back(each.name, each.value);
    }
    return found;
  }

  /// Schedule level regions have one block.
  bool same_region(Region* a, Region* b) {
    if (a->block_count() != b->block_count() || a->block_count() > 1) return false;
    if (a->empty()) return true;
    Block* x = a->front();
    Block* y = b->front();
    if (x->arg_count() != y->arg_count()) return false;
    for (unsigned i = 0; i < x->arg_count(); ++i) {
      if (!pair(x->arg(i), y->arg(i))) return false;
    }
    Op* p = x->front();
    Op* q = y->front();
    for (; p && q; p = p->next(), q = q->next()) {
      if (!same_op(p, q)) return false;
    }
    return !p && !q;
  }

  std::unordered_map<Value*, Value*> pairs_;
};

}  // namespace

std::vector<std::string> free_dims(Op* kernel) {
  NameList names;
  Block* body = kernel->region()->front();
  unsigned count = body ? body->arg_count() : 0;
  unsigned inputs = count - std::min(count, unsigned(kernel->attr(common::Kernel::outputs)));
  for (unsigned i = 0; i < count; ++i) {
    for (Dim dim : body->arg((i + inputs) % count)->type()->dims) names.add(dim);
  }
  return names.take();
}

Attr parameter_names(Op* kernel) {
  Context& context = kernel->module()->context();
  Block* body = kernel->region()->front();
  std::vector<Attr> names;
  bool is_named = false;
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    names.push_back(context.string(body->arg(i)->name()));
    is_named = is_named || !body->arg(i)->name().empty();
  }
  return is_named ? context.array(std::move(names)) : nullptr;
}

std::vector<std::string> mentioned_dims(Op* kernel) {
  NameList names;
  names.add(kernel);
  walk(kernel, [&](Op* op) { names.add(op); });
  return names.take();
}

std::map<std::string, Dim> canonicalize_dims(Op* kernel) {
  DimTable& table = kernel->module()->context().dims();
  std::map<std::string, Dim, std::less<>> replacements;
  std::map<std::string, Dim> binding;
  for (const std::string& name : free_dims(kernel)) {
    std::string renamed = "d" + std::to_string(binding.size());
    replacements[name] = table.symbol(renamed);
    binding[renamed] = table.symbol(name);
  }
  substitute_dims(kernel, replacements);
  return binding;
}

std::vector<unsigned> drop_unused_inputs(Op* kernel) {
  Block* body = kernel->region()->front();
  unsigned inputs = body->arg_count() - unsigned(kernel->attr(common::Kernel::outputs));
  std::set<std::string, std::less<>> unknown;
  for (std::string& name : mentioned_dims(kernel)) unknown.insert(std::move(name));
  auto tells = [&](Value* parameter) {
    size_t before = unknown.size();
    for_each_symbol(parameter->type(), [&](std::string_view name) {
      if (auto it = unknown.find(name); it != unknown.end()) unknown.erase(it);
    });
    return unknown.size() < before;
  };
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    if (i >= inputs || !body->arg(i)->unused()) tells(body->arg(i));
  }
  std::vector<unsigned> kept, dropped;
  for (unsigned i = 0; i < inputs; ++i) {
    bool stays = !body->arg(i)->unused() || tells(body->arg(i));
    (stays ? kept : dropped).push_back(i);
  }
  for (size_t i = dropped.size(); i-- > 0;) body->erase_arg(dropped[i]);
  return kept;
}

Attr variant_symbol(Module& module, std::string_view kernel) {
  for (unsigned n = 1;; ++n) {
    std::string name = std::string(kernel) + ".v" + std::to_string(n);
    if (!module.find(name)) return module.context().symbol(name);
  }
}

Attr symbols_attr(Context& context, const std::vector<Op*>& kernels) {
  std::vector<Attr> names;
  for (Op* kernel : kernels) names.push_back(context.symbol(symbol_name(kernel)));
  return names.empty() ? nullptr : context.array(std::move(names));
}

bool same_kernel(Op* a, Op* b) {
  return Comparison().same_op(a, b);
}

}  // namespace tessera
