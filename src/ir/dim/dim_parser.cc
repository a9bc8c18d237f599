// The text form of dimensions, read by precedence climbing with a depth limit.

#include <cctype>

#include "ir/dim/dim.h"

namespace tessera {

namespace {

class DimParser {
 public:
  DimParser(DimTable& table, std::string_view text) : table_(table), text_(text) {}

  Dim whole() {
    Dim dim = sum();
    skip_space();
    return at_ == text_.size() ? dim : nullptr;
  }

 private:
  static constexpr int max_depth = 100;

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Dim sum() {
    Dim left = product();
    while (left) {
      if (take("+")) {
        Dim right = product();
        left = right ? table_.add(left, right) : nullptr;
      } else if (take("-")) {
        Dim right = product();
        left = right ? table_.sub(left, right) : nullptr;
      } else {
        break;
      }
    }
    return left;
  }

  Dim product() {
    Dim left = primary();
    while (left) {
      using Make = Dim (DimTable::*)(Dim, Dim);
      Make make = nullptr;
      if (take("//")) {
        make = &DimTable::floordiv;
      } else if (take("%")) {
        make = &DimTable::mod;
      } else if (take("*")) {
        make = &DimTable::mul;
      } else {
        break;
      }
      Dim right = primary();
      left = right ? (table_.*make)(left, right) : nullptr;
    }
    return left;
  }

  Dim call(Dim (DimTable::*make)(Dim, Dim)) {
    Dim a = sum();
    if (!a || !take(",")) return nullptr;
    Dim b = sum();
    if (!b || !take(")")) return nullptr;
    return (table_.*make)(a, b);
  }

  Dim primary() {
    if (++depth_ > max_depth) return nullptr;
    Dim dim = primary_unchecked();
    --depth_;
    return dim;
  }

  Dim primary_unchecked() {
    skip_space();
    if (take("(")) {
      Dim inner = sum();
      return inner && take(")") ? inner : nullptr;
    }
    if (take("-")) {
      Dim inner = primary();
      return inner ? table_.mul(table_.constant(-1), inner) : nullptr;
    }
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) return number();
    std::string_view name = identifier();
    if (name.empty()) return nullptr;
    if (take("(")) {
      if (name == "min") return call(&DimTable::min);
      if (name == "max") return call(&DimTable::max);
      if (name == "ceildiv") return call(&DimTable::ceildiv);
      return nullptr;
    }
    return table_.symbol(name);
  }

  Dim number() {
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        return nullptr;
      }
      ++at_;
    }
    return table_.constant(value);
  }

  std::string_view identifier() {
    size_t begin = at_;
    auto is_name = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; };
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  DimTable& table_;
  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim DimTable::parse(std::string_view text) { return DimParser(*this, text).whole(); }

}  // namespace tessera
