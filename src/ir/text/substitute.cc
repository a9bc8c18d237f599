#include "ir/text/substitute.h"

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

}  // namespace

void substitute_dims(Op* root, const Replacements& replacements) {
  substitute_attrs(root, replacements);
  substitute_values(root, replacements);
  walk(root, [&](Op* op) {
    substitute_attrs(op, replacements);
    substitute_values(op, replacements);
  });
}

}  // namespace tessera
