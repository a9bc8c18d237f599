#include "check/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace tessera::check {

namespace {

/// Symbols that a type's dims name, and those it declares by standing alone.
void collect_symbols(const ValueType& type, std::set<std::string>& used, std::set<std::string>* declared) {
  for (Dim dim : type.dims) {
    for_each_symbol(dim, [&](std::string_view name) { used.emplace(name); });
    if (declared && !dim->symbol().empty()) declared->emplace(dim->symbol());
  }
}

/// True if the text has the symbol as a word.
bool mentions(const std::string& text, const std::string& symbol) {
  auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(symbol); at != std::string::npos; at = text.find(symbol, at + 1)) {
    size_t end = at + symbol.size();
    bool inside = (at && is_word(text[at - 1])) || (end < text.size() && is_word(text[end]));
    if (!inside) return true;
  }
  return false;
}

const char* const symbols[] = {"M", "N", "K"};

}  // namespace

std::vector<bool> Program::needed() const {
  std::vector<bool> need(nodes.size());
  for (int result : results) need[size_t(result)] = true;
  std::set<std::string> used;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!need[i]) continue;
    for (int operand : nodes[i].operands) need[size_t(operand)] = true;
    collect_symbols(nodes[i].type, used, nullptr);
    for (const char* symbol : symbols) {
      if (mentions(nodes[i].text, symbol)) used.insert(symbol);
    }
  }
  for (const std::string& condition : conditions) {
    for (const char* symbol : symbols) {
      if (mentions(condition, symbol)) used.insert(symbol);
    }
  }
  std::set<std::string> declared;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::set<std::string> ignored;
    if (nodes[i].is_argument() && need[i]) collect_symbols(nodes[i].type, ignored, &declared);
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_argument()) continue;
    std::set<std::string> ignored, own;
    collect_symbols(nodes[i].type, ignored, &own);
    for (const std::string& symbol : own) {
      if (!used.contains(symbol) || declared.contains(symbol)) continue;
      need[i] = true;
      declared.insert(own.begin(), own.end());
    }
  }
  return need;
}

Program pruned(const Program& program) {
  Program smaller = program;
  smaller.nodes.clear();
  std::vector<bool> need = program.needed();
  std::vector<int> place(program.nodes.size(), -1);
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    if (!need[i]) continue;
    place[i] = int(smaller.nodes.size());
    smaller.nodes.push_back(program.nodes[i]);
    for (int& operand : smaller.nodes.back().operands) operand = place[size_t(operand)];
  }
  for (int& result : smaller.results) result = place[size_t(result)];
  return smaller;
}

std::string type_text(const ValueType& type) {
  std::string text = "Tensor[";
  for (Dim dim : type.dims) text += dim->text + ", ";
  return text + std::string(to_string(type.dtype)) + "]";
}

namespace {

class SourceWriter {
 public:
  explicit SourceWriter(const Program& program) : program_(program), need_(program.needed()) {}

  std::string write() {
    const std::vector<Node>& nodes = program_.nodes;
    std::string arguments;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!need_[i]) continue;
      if (nodes[i].is_argument()) {
        arguments += (arguments.empty() ? "" : ", ") + fmt::format("x{}: {}", i, type_text(nodes[i].type));
        texts_[int(i)] = fmt::format("x{}", i);
      } else {
        write_node(int(i));
      }
    }
    std::string values, types;
    for (int result : program_.results) {
      values += (values.empty() ? "" : ", ") + texts_.at(result);
      types += (types.empty() ? "" : ", ") + type_text(nodes[size_t(result)].type);
    }
    if (program_.results.size() > 1) types = "(" + types + ")";
    std::string where;
    for (const std::string& condition : program_.conditions) {
      where += (where.empty() ? " where " : " and ") + condition;
    }
    return functions_ + "@jit\ndef f(" + arguments + ") -> " + types + where + ":\n" + body_ + "    return " +
           values + "\n";
  }

 private:
  /// The text with operands in their places.
  std::string filled(const std::string& text, const std::vector<std::string>& operands, const std::string& result) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      bool place = text[i] == '{' && i + 2 < text.size() && text[i + 2] == '}';
      if (!place) {
        out += text[i];
        continue;
      }
      out += text[i + 1] == 'r' ? result : operands[size_t(text[i + 1] - '0')];
      i += 2;
    }
    return out;
  }

  void write_node(int index) {
    const Node& node = program_.nodes[size_t(index)];
    std::vector<std::string> operands;
    for (int operand : node.operands) operands.push_back(texts_.at(operand));
    std::string name = fmt::format("v{}", index);
    if (node.text.back() == '\n') {
      body_ += filled(node.text, operands, name);
      texts_[index] = name;
      return;
    }
    std::string text = write_call(index, node, operands);
    bool once = std::count_if(program_.nodes.begin(), program_.nodes.end(), [&](const Node& other) {
                  return std::count(other.operands.begin(), other.operands.end(), index) != 0;
                }) < 2;
    if (node.style == Style::Inline && once && text.size() < 200) {
      texts_[index] = text;
      return;
    }
    body_ += "    " + name + " = " + text + "\n";
    texts_[index] = name;
  }

  std::string write_call(int index, const Node& node, const std::vector<std::string>& operands) {
    if (operands.empty() || node.style == Style::Inline || node.style == Style::Named) {
      return filled(node.text, operands, {});
    }
    std::vector<std::string> names;
    std::string list, given;
    for (size_t i = 0; i < operands.size(); ++i) {
      names.push_back(std::string(1, char('a' + i)));
      list += (i ? ", " : "") + names.back();
      given += (i ? ", " : "") + operands[i];
    }
    std::string inner = filled(node.text, names, {});
    bool has_symbols = std::any_of(std::begin(symbols), std::end(symbols),
                                   [&](const char* symbol) { return mentions(inner, symbol); });
    if (node.style == Style::Lambda || has_symbols) return "(lambda " + list + ": " + inner + ")(" + given + ")";
    std::string function = fmt::format("g{}", index);
    functions_ += "def " + function + "(" + list + "):\n    return " + inner + "\n\n";
    return function + "(" + given + ")";
  }

  const Program& program_;
  std::vector<bool> need_;
  std::map<int, std::string> texts_;
  std::string functions_, body_;
};

}  // namespace

std::string source_of(const Program& program) { return SourceWriter(program).write(); }

}  // namespace tessera::check
