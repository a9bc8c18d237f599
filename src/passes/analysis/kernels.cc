#include "passes/analysis/kernels.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ir/core/common_attributes.h"
#include "ir/text/symbols.h"

namespace tessera {

namespace {

using Replacements = std::map<std::string, Dim, std::less<>>;

std::vector<Dim> substitute_all(DimTable& table, const std::vector<Dim>& dims,
                                const Replacements& by) {
  std::vector<Dim> replaced;
  for (Dim dim : dims) replaced.push_back(table.substitute(dim, by));
  return replaced;
}

Type substitute_type(Context& context, Type type, const Replacements& by) {
  DimTable& table = context.dims();
  switch (type->kind) {
    case TypeKind::Tensor:
      return context.tensor(substitute_all(table, type->dims, by), type->dtype, type->policies);
    case TypeKind::Tile:
      return context.tile(substitute_all(table, type->dims, by), type->dtype);
    case TypeKind::View:
      return context.view(substitute_all(table, type->dims, by), type->dtype,
                          substitute_all(table, type->strides, by),
                          table.substitute(type->offset, by), type->space);
    case TypeKind::Scalar:
    case TypeKind::Reg:
    case TypeKind::Ptr:
      return type;
  }
  return type;
}

Attr substitute_attr(Context& context, Attr attr, const Replacements& by) {
  switch (attr->kind) {
    case AttrKind::Dim:
      return context.dim(context.dims().substitute(attr->dim, by));
    case AttrKind::Type:
      return context.type(substitute_type(context, attr->type, by));
    case AttrKind::Array: {
      std::vector<Attr> elements;
      for (Attr element : attr->elements) elements.push_back(substitute_attr(context, element, by));
      return context.array(std::move(elements));
    }
    case AttrKind::Dict: {
      std::vector<NamedAttr> entries;
      for (const auto& [key, value] : attr->entries) {
        entries.emplace_back(key, substitute_attr(context, value, by));
      }
      return context.dict(std::move(entries));
    }
    default:
      return attr;
  }
}

void substitute_attrs(Op* op, const Replacements& by) {
  Context& context = op->module()->context();
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  for (OpAttr& attribute : attributes) {
    attribute.value = substitute_attr(context, attribute.value, by);
    op->set(attribute);
  }
}

void substitute_values(Op* op, const Replacements& by) {
  Context& context = op->module()->context();
  for (unsigned i = 0; i < op->result_count(); ++i) {
    op->result(i)->set_type(substitute_type(context, op->result(i)->type(), by));
  }
  for (unsigned r = 0; r < op->region_count(); ++r) {
    for (Block* block = op->region(r)->front(); block; block = block->next()) {
      for (unsigned i = 0; i < block->arg_count(); ++i) {
        block->arg(i)->set_type(substitute_type(context, block->arg(i)->type(), by));
      }
    }
  }
}

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
    if (a->attributes().size() != b->attributes().size()) return false;
    for (size_t i = 0; i < a->attributes().size(); ++i) {
      const OpAttr& x = a->attributes()[i];
      const OpAttr& y = b->attributes()[i];
      if (x.name != y.name) return false;
      bool is_symbol = a->info().has(Function) && x.name == "symbol";
      if (x.value != y.value && !is_symbol) return false;
    }
    return true;
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

void substitute_dims(Op* kernel, const Replacements& replacements) {
  substitute_attrs(kernel, replacements);
  substitute_values(kernel, replacements);
  walk(kernel, [&](Op* op) {
    substitute_attrs(op, replacements);
    substitute_values(op, replacements);
  });
}

std::map<std::string, Dim> canonicalize_dims(Op* kernel) {
  DimTable& table = kernel->module()->context().dims();
  Replacements replacements;
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
