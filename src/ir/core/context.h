#pragma once
// A Context owns dimensions, types and attributes, and knows the op tables. One compilation, one thread
// at a time: modules that are compiled in parallel live in contexts of their own.

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/core/type.h"
#include "ir/dim/dim.h"
#include "support/source.h"

namespace tessera {

struct OpInfo;

/// A call whose code was inlined.
struct InlinedCall {
  std::string name;  ///< what is called: "gelu"; of a module's instance, "blocks.3"
  Loc at;            ///< where; its `call` is the call around it
};

class Context {
 public:
  Context();
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  DimTable& dims() { return dims_; }

  /// The number of a new call, for Loc::call.
  uint32_t add_call(std::string name, Loc at);
  /// By number; the first stands for no call.
  const std::vector<InlinedCall>& calls() const { return calls_; }

  // Types.
  Type scalar(DType dtype);
  Type tensor(std::vector<Dim> dims, DType dtype, Policies policies = {});
  Type view(std::vector<Dim> dims, DType dtype, std::vector<Dim> strides, Dim offset,
            MemorySpace space = MemorySpace::Global);
  /// The view of contiguous row-major memory.
  Type contiguous_view(std::vector<Dim> dims, DType dtype, MemorySpace space);
  Type tile(std::vector<Dim> dims, DType dtype);
  Type reg(DType dtype, int64_t lanes);
  /// An address of memory that all programs see, or of shared memory.
  Type ptr(MemorySpace space = MemorySpace::Global);
  /// The same kind of type with another dtype (and, for tensors, without policies).
  Type with_dtype(Type type, DType dtype);
  /// The same tile or view with another layout, or with none when it is empty.
  Type with_layout(Type type, std::string_view layout);
  /// A type of one element for Tensor, Tile, Reg and Scalar.
  Type element(Type type) { return scalar(type->dtype); }
  /// Reads a type's text; null when it is none.
  Type parse_type(std::string_view text);

  // Attributes.
  Attr boolean(bool value);
  Attr integer(int64_t value);
  Attr number(double value);
  Attr string(std::string_view value);
  Attr dtype(DType value);
  Attr dim(Dim value);
  Attr type(Type value);
  Attr symbol(std::string_view name);
  Attr array(std::vector<Attr> elements);
  Attr dims_array(const std::vector<Dim>& dims);
  Attr integers(const std::vector<int64_t>& values);
  Attr dict(std::vector<NamedAttr> entries);

  /// A string that lives as long as the context.
  std::string_view intern(std::string_view text);

  // Ops.
  void register_ops(const OpInfo* const* begin, const OpInfo* const* end);
  const OpInfo* find_op(std::string_view name) const;
  /// All registered ops, by name.
  std::vector<const OpInfo*> all_ops() const;

 private:
  Type make(TypeNode node);
  Attr make(AttrNode node);

  DimTable dims_;
  std::vector<InlinedCall> calls_ = {{}};
  std::unordered_map<std::string, std::unique_ptr<TypeNode>> types_;
  std::unordered_map<std::string, std::unique_ptr<AttrNode>> attributes_;
  std::unordered_map<std::string, std::unique_ptr<std::string>> strings_;
  std::unordered_map<std::string_view, const OpInfo*> ops_;
};

}  // namespace tessera
