#include "ir/core/type.h"

#include <fmt/format.h>

#include <array>

#include "ir/core/context.h"
#include "support/check.h"
#include "support/spending.h"

namespace tessera {

namespace {

constexpr std::string_view space_names[] = {"global", "shared", "register", "scratch"};

std::string joined_text(const std::vector<Dim>& dims) {
  std::string text;
  for (Dim dim : dims) text += dim->text + " x ";
  if (!text.empty()) text.resize(text.size() - 3);
  return text;
}

std::string dtype_text(const TypeNode& node) {
  std::string text(to_string(node.dtype));
  const Policies& p = node.policies;
  if (p.accum) text += fmt::format(" accum({})", to_string(*p.accum));
  if (p.stochastic_round) text += " stochastic_round";
  if (p.saturate) text += " saturate";
  if (p.loss_scale) text += fmt::format(" loss_scale({})", *p.loss_scale);
  return text;
}

std::string shaped_text(std::string_view head, const TypeNode& node) {
  std::string dims = joined_text(node.dims);
  return fmt::format("{}<{}{}{}", head, dims, dims.empty() ? "" : ", ", dtype_text(node));
}

std::string layout_text(const TypeNode& node) {
  return node.layout.empty() ? "" : fmt::format(", {}", node.layout);
}

std::string text_of(const TypeNode& node) {
  switch (node.kind) {
    case TypeKind::Scalar: return std::string(to_string(node.dtype));
    case TypeKind::Tensor: return shaped_text("tensor", node) + ">";
    case TypeKind::Tile: return shaped_text("tile", node) + layout_text(node) + ">";
    case TypeKind::View:
      return fmt::format("{}, strides = {}, offset = {}, space = {}{}>", shaped_text("view", node),
                         to_text(node.strides), node.offset->text, to_string(node.space), layout_text(node));
    case TypeKind::Reg: return fmt::format("reg<{} x {}>", to_string(node.dtype), node.lanes);
    case TypeKind::Ptr:
      return node.space == MemorySpace::Global ? "ptr" : fmt::format("ptr<{}>", to_string(node.space));
  }
  TSR_UNREACHABLE("unknown type kind");
}

}  // namespace

std::string_view to_string(MemorySpace space) { return space_names[size_t(space)]; }

std::optional<MemorySpace> parse_memory_space(std::string_view text) {
  for (size_t i = 0; i < std::size(space_names); ++i) {
    if (space_names[i] == text) return MemorySpace(i);
  }
  return std::nullopt;
}

bool same_dims(Type a, Type b) { return a->dims == b->dims; }

Type Context::make(TypeNode node) {
  node.text = text_of(node);
  auto& slot = types_[node.text];
  if (slot) return slot.get();
  spending().bytes += int64_t(sizeof node + 2 * node.text.size());
  slot = std::make_unique<TypeNode>(std::move(node));
  return slot.get();
}

Type Context::scalar(DType dtype) { return make(TypeNode{TypeKind::Scalar, dtype}); }

Type Context::tensor(std::vector<Dim> dims, DType dtype, Policies policies) {
  return make(TypeNode{TypeKind::Tensor, dtype, policies, std::move(dims)});
}

Type Context::view(std::vector<Dim> dims, DType dtype, std::vector<Dim> strides, Dim offset,
                   MemorySpace space) {
  TSR_CHECK(dims.size() == strides.size(), "a view has one stride per dimension");
  TypeNode node{TypeKind::View, dtype, {}, std::move(dims), std::move(strides), offset, space};
  return make(std::move(node));
}

Type Context::contiguous_view(std::vector<Dim> dims, DType dtype, MemorySpace space) {
  std::vector<Dim> strides(dims.size());
  Dim stride = dims_.constant(1);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = dims_.mul(stride, dims[i]);
  }
  return view(std::move(dims), dtype, std::move(strides), dims_.constant(0), space);
}

Type Context::tile(std::vector<Dim> dims, DType dtype) {
  return make(TypeNode{TypeKind::Tile, dtype, {}, std::move(dims)});
}

Type Context::reg(DType dtype, int64_t lanes) {
  TypeNode node{TypeKind::Reg, dtype};
  node.lanes = lanes;
  return make(std::move(node));
}

Type Context::ptr(MemorySpace space) {
  TSR_CHECK(space == MemorySpace::Global || space == MemorySpace::Shared, "no address has that memory space");
  TypeNode node{TypeKind::Ptr};
  node.space = space;
  return make(std::move(node));
}

Type Context::with_layout(Type type, std::string_view layout) {
  TypeNode node = *type;
  node.layout = intern(layout);
  return make(std::move(node));
}

Type Context::with_dtype(Type type, DType dtype) {
  TypeNode node = *type;
  node.dtype = dtype;
  node.policies = {};
  return make(std::move(node));
}

}  // namespace tessera
