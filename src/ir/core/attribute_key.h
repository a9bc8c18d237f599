#pragma once
// Keys of attributes: what a row says of one, as a constant. `op->attr(attr::Wgmma::m)` is an int64_t because the row
// says ATTR(m, Int). A key finds the attribute by its name, so keys of two rows that say the same are one key.

#include <optional>
#include <string_view>
#include <vector>

#include "ir/core/attribute.h"

namespace tessera {

class Context;

enum class AttrType : uint8_t {
#define ATTRIBUTE_TYPE(Name, element, phrase) Name,
#include "ir/core/attribute_types.def"
#undef ATTRIBUTE_TYPE
};
/// As in a sentence: "an integer".
std::string_view to_string(AttrType type);
/// The type of the elements of a list, and itself for other types.
AttrType element_type(AttrType type);
/// Whether the attribute is what the type says.
bool fits(Attr attr, AttrType type);

enum class Arity : uint8_t { One, Optional, Many };

template <AttrType, Arity>
struct AttrKey;

/// One attribute of an op, or for one. Only keys make them.
struct OpAttr {
  std::string_view name;
  Attr value = nullptr;

  OpAttr() = default;

 private:
  OpAttr(std::string_view its_name, Attr its_value) : name(its_name), value(its_value) {}
  template <AttrType, Arity>
  friend struct AttrKey;
  friend class Op;
  friend struct AttributeText;
};

/// How attributes of each type are read and made. A `Value` that is a pointer is null where an optional attribute is
/// not there, and a list is empty; others are std::optional then.
template <AttrType type>
struct AttrAccess;

template <AttrType type>
using AttrValue = typename AttrAccess<type>::Value;

/// The elements of a list, each read where it is asked for.
template <AttrType element>
class AttrList {
 public:
  using Value = AttrValue<element>;

  class Iterator {
   public:
    using value_type = Value;
    using reference = Value;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    Iterator() = default;
    explicit Iterator(const Attr* at) : at_(at) {}
    Value operator*() const { return AttrAccess<element>::read(*at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const Attr* at_ = nullptr;
  };

  explicit AttrList(Attr list) : list_(list) {}
  size_t size() const { return list_ ? list_->elements.size() : 0; }
  bool empty() const { return size() == 0; }
  Value operator[](size_t i) const { return AttrAccess<element>::read(list_->elements[i]); }
  Iterator begin() const { return Iterator(list_ ? list_->elements.data() : nullptr); }
  Iterator end() const { return Iterator(list_ ? list_->elements.data() + list_->elements.size() : nullptr); }
  std::vector<Value> vector() const { return {begin(), end()}; }
  operator std::vector<Value>() const { return vector(); }

 private:
  Attr list_;
};

/// A list of elements of another type.
template <AttrType element>
struct AttrListAccess {
  using Value = AttrList<element>;
  static Value read(Attr attr) { return Value(attr); }
};

template <>
struct AttrAccess<AttrType::Bool> {
  using Value = bool;
  static Value read(Attr attr) { return attr && attr->boolean; }
  static Attr make(Context& context, bool value);
};
template <>
struct AttrAccess<AttrType::Int> {
  using Value = int64_t;
  static Value read(Attr attr) { return attr->integer; }
  static Attr make(Context& context, int64_t value);
};
template <>
struct AttrAccess<AttrType::Float> {
  using Value = double;
  static Value read(Attr attr) { return attr->number; }
  static Attr make(Context& context, double value);
};
template <>
struct AttrAccess<AttrType::String> {
  using Value = std::string_view;
  static Value read(Attr attr) { return attr->string; }
  static Attr make(Context& context, std::string_view value);
};
template <>
struct AttrAccess<AttrType::Symbol> {
  using Value = std::string_view;
  static Value read(Attr attr) { return attr->string; }
  static Attr make(Context& context, std::string_view value);
};
template <>
struct AttrAccess<AttrType::DType> {
  using Value = DType;
  static Value read(Attr attr) { return attr->dtype; }
  static Attr make(Context& context, DType value);
};
template <>
struct AttrAccess<AttrType::Dim> {
  using Value = Dim;
  static Value read(Attr attr) { return attr ? attr->dim : nullptr; }
  static Attr make(Context& context, Dim value);
};
template <>
struct AttrAccess<AttrType::Type> {
  using Value = Type;
  static Value read(Attr attr) { return attr ? attr->type : nullptr; }
  static Attr make(Context& context, Type value);
};

/// What is read as it is.
struct AttrNodeAccess {
  using Value = Attr;
  static Value read(Attr attr) { return attr; }
  static Attr make(Context&, Attr value) { return value; }
};
template <>
struct AttrAccess<AttrType::Dict> : AttrNodeAccess {
  using AttrNodeAccess::make;
  static Attr make(Context& context, std::vector<NamedAttr> entries);
};
template <>
struct AttrAccess<AttrType::Fact> : AttrNodeAccess {};
template <>
struct AttrAccess<AttrType::Element> : AttrNodeAccess {};
template <>
struct AttrAccess<AttrType::Number> : AttrNodeAccess {
  using AttrNodeAccess::make;
  static Attr make(Context& context, int value) { return make(context, int64_t(value)); }
  static Attr make(Context& context, int64_t value);
  static Attr make(Context& context, double value);
};

template <>
struct AttrAccess<AttrType::Ints> : AttrListAccess<AttrType::Int> {
  static Attr make(Context& context, const std::vector<int64_t>& values);
};
template <>
struct AttrAccess<AttrType::Dims> : AttrListAccess<AttrType::Dim> {
  static Attr make(Context& context, const std::vector<Dim>& values);
};
template <>
struct AttrAccess<AttrType::Types> : AttrListAccess<AttrType::Type> {
  static Attr make(Context& context, const std::vector<Type>& values);
};
template <>
struct AttrAccess<AttrType::Strings> : AttrListAccess<AttrType::String> {
  static Attr make(Context& context, const std::vector<std::string>& values);
};
template <>
struct AttrAccess<AttrType::Symbols> : AttrListAccess<AttrType::Symbol> {
  static Attr make(Context& context, const std::vector<std::string>& values);
};
/// Elements that are read as they are: the list is a vector.
struct AttrNodesAccess {
  using Value = const std::vector<Attr>&;
  static Value read(Attr attr);
  static Attr make(Context& context, std::vector<Attr> values);
};
template <>
struct AttrAccess<AttrType::Elements> : AttrNodesAccess {};
template <>
struct AttrAccess<AttrType::Dicts> : AttrNodesAccess {};
template <>
struct AttrAccess<AttrType::Facts> : AttrNodesAccess {};

/// Whether an optional attribute that is not there reads as a value: false, null, an empty list.
constexpr bool reads_as_absent(AttrType type) {
  return type != AttrType::Int && type != AttrType::Float && type != AttrType::String && type != AttrType::Symbol &&
         type != AttrType::DType;
}

/// An attribute of a row.
template <AttrType type_, Arity arity_>
struct AttrKey {
  static constexpr AttrType type = type_;
  static constexpr Arity arity = arity_;
  /// What an op's attribute is read as.
  using Read = std::conditional_t<arity == Arity::One || reads_as_absent(type), AttrValue<type>,
                                  std::optional<std::remove_cvref_t<AttrValue<type>>>>;

  std::string_view name;

  Read read(Attr attr) const {
    if constexpr (arity == Arity::Optional && !reads_as_absent(type)) {
      return attr ? Read(AttrAccess<type>::read(attr)) : Read();
    } else {
      return AttrAccess<type>::read(attr);
    }
  }
  /// The attribute that holds a value; none for an optional Bool that is false.
  template <typename T>
  Attr make(Context& context, T&& value) const {
    if constexpr (type == AttrType::Bool && arity == Arity::Optional) {
      if (!value) return nullptr;
    }
    return AttrAccess<type>::make(context, std::forward<T>(value));
  }
  /// For the builder of an op: attr::Wgmma::m(context, 64).
  template <typename T>
  OpAttr operator()(Context& context, T&& value) const {
    return {name, make(context, std::forward<T>(value))};
  }
  /// The same of an attribute that is there already, as of another op; null for none.
  OpAttr operator()(Attr value) const { return {name, value}; }
};

}  // namespace tessera
