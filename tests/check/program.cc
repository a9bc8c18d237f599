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

bool Program::has_plain() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return !node.plain.empty(); });
}

std::vector<bool> Program::needed() const {
  std::vector<bool> need(nodes.size(), !whole.empty());
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

/// The text with operands in their places, parameters where they are meant, and the result's name.
std::string filled(const std::string& text, const std::vector<std::string>& operands,
                   const std::vector<std::string>& parameters, const std::string& result) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    if (end == std::string::npos || end > i + 3) {
      out += text[i];
      continue;
    }
    bool parameter = text[i + 1] == '@';
    size_t operand = size_t(text[i + 1 + parameter] - '0');
    out += text[i + 1] == 'r' ? result : parameter ? parameters[operand] : operands[operand];
    i = end;
  }
  return out;
}

std::string where_clause(const Program& program) {
  std::string where;
  for (const std::string& condition : program.conditions) {
    where += (where.empty() ? " where " : " and ") + condition;
  }
  return where;
}

/// Of all results, or of those that a kernel returns.
std::string result_types(const Program& program, bool returned = false) {
  std::string types;
  size_t count = 0;
  for (int result : program.results) {
    const Node& node = program.nodes[size_t(result)];
    if (returned && node.stores) continue;
    types += (count++ ? ", " : "") + type_text(node.type);
  }
  return count > 1 ? "(" + types + ")" : types;
}

class SourceWriter {
 public:
  SourceWriter(const Program& program, bool plainly)
      : program_(program), need_(program.needed()), plainly_(plainly) {}

  std::string write() {
    const std::vector<Node>& nodes = program_.nodes;
    std::string arguments;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!need_[i]) continue;
      if (nodes[i].is_param) {
        write_param(int(i));
      } else if (nodes[i].is_argument()) {
        arguments += (arguments.empty() ? "" : ", ") + fmt::format("x{}: {}", i, type_text(nodes[i].type));
        texts_[int(i)] = fmt::format("x{}", i);
      } else {
        write_node(int(i));
      }
    }
    if (!fields_.empty()) fields_ = layer + "module Weights():\n" + fields_ + "\nweights = Weights()\n\n";
    std::string values;
    for (int result : program_.results) values += (values.empty() ? "" : ", ") + texts_.at(result);
    return imports() + fields_ + functions_ + "@jit\ndef f(" + arguments + ") -> " + result_types(program_) +
           where_clause(program_) + ":\n" + body_ + "    return " + values + "\n";
  }

 private:
  /// Matrices are params of a module of their own, which the fields are instances of.
  static inline const std::string layer =
      "module Layer(I: dim, O: dim, T: dtype):\n    w: Param[I, O, T] = zeros()\n\n";

  void write_param(int index) {
    const ValueType& type = program_.nodes[size_t(index)].type;
    if (type.rank() != 2) {
      fields_ += fmt::format("    w{}: Param{} = zeros()\n", index, type_text(type).substr(6));
      texts_[index] = fmt::format("weights.w{}", index);
      return;
    }
    fields_ += fmt::format("    layer{}: Layer({}, {}, {})\n", index, type.dims[0]->text, type.dims[1]->text,
                           to_string(type.dtype));
    texts_[index] = fmt::format("weights.layer{}.w", index);
  }

  const std::string& text_of(const Node& node) const {
    return plainly_ && !node.plain.empty() ? node.plain : node.text;
  }

  /// Functions that have to be imported.
  std::string imports() const {
    static constexpr const char* names[] = {
        "layernorm",  "log_softmax", "logaddexp",   "softplus",  "mish",   "elu",      "leaky_relu", "clamp",
        "hard_swish", "gelu_exact",  "quick_gelu",  "logsumexp", "argmax", "argmin",   "sort",       "argsort",
        "topk",       "one_hot",     "scatter_add", "pad",       "swiglu", "geglu",    "reglu",      "take",
        "conv2d",     "max_pool2d",  "avg_pool2d",  "cumsum",    "cummax", "quantize", "matmul_int4"};
    std::string list;
    for (const char* name : names) {
      bool used = false;
      for (size_t i = 0; i < program_.nodes.size(); ++i) used |= need_[i] && mentions(text_of(program_.nodes[i]), name);
      if (used) list += (list.empty() ? "" : ", ") + std::string(name);
    }
    return list.empty() ? list : "from tessera.nn import " + list + "\n\n";
  }

  void write_node(int index) {
    const Node& node = program_.nodes[size_t(index)];
    std::vector<std::string> operands;
    for (int operand : node.operands) operands.push_back(texts_.at(operand));
    std::string name = fmt::format("v{}", index);
    if (&text_of(node) == &node.text) functions_ += filled(node.definitions, {}, {}, name);
    if (text_of(node).back() == '\n') {
      body_ += filled(text_of(node), operands, operands, name);
      texts_[index] = name;
      return;
    }
    std::string text = write_call(index, node, operands);
    bool once = std::count_if(program_.nodes.begin(), program_.nodes.end(), [&](const Node& other) {
                  return std::count(other.operands.begin(), other.operands.end(), index) != 0;
                }) < 2;
    // A draw that is written twice would be two.
    bool draws = mentions(text, "normal") || mentions(text, "uniform") || mentions(text, "dropout");
    if (node.style == Style::Inline && once && !draws && text.size() < 200) {
      texts_[index] = text;
      return;
    }
    body_ += "    " + name + " = " + text + "\n";
    texts_[index] = name;
  }

  std::string write_call(int index, const Node& node, const std::vector<std::string>& operands) {
    if (operands.empty() || node.style == Style::Inline || node.style == Style::Named) {
      return filled(text_of(node), operands, operands, {});
    }
    std::vector<std::string> names;
    std::string list, given;
    for (size_t i = 0; i < operands.size(); ++i) {
      names.push_back(std::string(1, char('a' + i)));
      list += (i ? ", " : "") + names.back();
      given += (i ? ", " : "") + operands[i];
    }
    std::string inner = filled(text_of(node), names, names, {});
    bool has_symbols = std::any_of(std::begin(symbols), std::end(symbols),
                                   [&](const char* symbol) { return mentions(inner, symbol); });
    if (node.style == Style::Lambda || has_symbols) return "(lambda " + list + ": " + inner + ")(" + given + ")";
    std::string function = fmt::format("g{}", index);
    functions_ += "def " + function + "(" + list + "):\n    return " + inner + "\n\n";
    return function + "(" + given + ")";
  }

  const Program& program_;
  std::vector<bool> need_;
  bool plainly_;
  std::map<int, std::string> texts_;
  std::string fields_, functions_, body_;
};

class KernelWriter {
 public:
  explicit KernelWriter(const Program& program) : program_(program), need_(program.needed()) {}

  std::string write(const std::string& schedule) {
    const std::vector<Node>& nodes = program_.nodes;
    std::string parameters, own, given;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!need_[i]) continue;
      std::string name = fmt::format("x{}", i);
      if (nodes[i].is_argument()) {
        std::string declared = (parameters.empty() ? "" : ", ") + name + ": ", type = type_text(nodes[i].type);
        parameters += declared + type;
        own += declared + (is_stored(int(i)) ? "Region[" + nodes[i].privilege + "] " : "") + type;
        given += (given.empty() ? "" : ", ") + name;
        names_[int(i)] = name;
        if (is_loaded(int(i))) body_ += fmt::format("    x{}t = {}\n", i, load(name, nodes[i].type));
        texts_[int(i)] = name + "t";
      } else {
        write_node(int(i));
      }
    }
    std::string values, axes;
    for (int result : program_.results) {
      if (nodes[size_t(result)].stores) continue;
      values += (values.empty() ? "" : ", ") + texts_.at(result);
    }
    for (const KernelForm::Axis& axis : program_.kernel->axes) {
      if (!is_used(axis.extent)) continue;
      axes += (axes.empty() ? "" : ", ") + axis.name + "=" + axis.extent->text;
    }
    std::string kernel = "@kernel.schedule(" + schedule + ")\ndef k(" + own + ")";
    if (!values.empty()) kernel += " -> " + result_types(program_, true);
    kernel += ":\n    t = tile.context(" + axes + ")\n" + body_;
    if (!values.empty()) kernel += "    return " + values + "\n";
    return kernel + "\n@jit\ndef f(" + parameters + ") -> " + result_types(program_) + where_clause(program_) +
           ":\n    return k(" + given + ")\n";
  }

 private:
  /// Whether some node reads the argument as a tile of this program.
  bool is_loaded(int argument) const {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const Node& node = program_.nodes[i];
      for (size_t o = 0; need_[i] && o < node.operands.size(); ++o) {
        if (node.operands[o] == argument && node.tile.find(fmt::format("{{{}}}", o)) != std::string::npos) return true;
      }
    }
    return std::count(program_.results.begin(), program_.results.end(), argument) != 0;
  }

  /// Whether the argument is a region, and some node stores in it.
  bool is_stored(int argument) const {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      if (need_[i] && program_.nodes[i].stores && program_.nodes[i].operands.back() == argument) return true;
    }
    return false;
  }

  bool is_used(Dim dim) const {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
      const std::vector<Dim>& dims = program_.nodes[i].type.dims;
      if (need_[i] && std::count(dims.begin(), dims.end(), dim)) return true;
    }
    return false;
  }

  const KernelForm::Axis* axis_of(Dim dim) const {
    for (const KernelForm::Axis& axis : program_.kernel->axes) {
      if (axis.extent == dim) return &axis;
    }
    return nullptr;
  }

  /// The index of a program's tile along an axis; 0 along one that is not in the grid.
  std::string index_of(const KernelForm::Axis& axis) const {
    static constexpr const char* indices[] = {"t.i", "t.j", "t.h"};
    size_t place = 0;
    for (const KernelForm::Axis& each : program_.kernel->axes) {
      bool in_grid = std::any_of(program_.results.begin(), program_.results.end(), [&](int result) {
        const std::vector<Dim>& dims = program_.nodes[size_t(result)].type.dims;
        return std::count(dims.begin(), dims.end(), each.extent) != 0;
      });
      if (each.name == axis.name) return in_grid ? indices[place] : "0";
      place += in_grid;
    }
    return "0";
  }

  std::string load(const std::string& name, const ValueType& type) const {
    std::string index, shape;
    for (Dim dim : type.dims) {
      const KernelForm::Axis* axis = axis_of(dim);
      index += index_of(*axis) + ", ";
      // A leading axis that is not part of tiles is taken one element at a time.
      if (axis->name != "b") shape += "t." + axis->name + ", ";
    }
    return "tile.load(" + name + ", (" + index + "), (" + shape + "))";
  }

  void write_node(int index) {
    const Node& node = program_.nodes[size_t(index)];
    std::vector<std::string> operands, parameters;
    for (int operand : node.operands) {
      operands.push_back(texts_.at(operand));
      parameters.push_back(names_[operand]);
    }
    std::string name = fmt::format("v{}", index);
    texts_[index] = name;
    std::string text = node.tile;
    for (const KernelForm::Axis& axis : program_.kernel->axes) {
      std::string mark = "$" + axis.name;
      for (size_t at; (at = text.find(mark)) != std::string::npos;) text.replace(at, mark.size(), index_of(axis));
    }
    text = filled(text, operands, parameters, name);
    body_ += text.back() == '\n' ? text : "    " + name + " = " + text + "\n";
  }

  const Program& program_;
  std::vector<bool> need_;
  std::map<int, std::string> texts_, names_;
  std::string body_;
};

}  // namespace

std::string source_of(const Program& program, bool plainly) {
  return program.whole.empty() ? SourceWriter(program, plainly).write() : program.whole;
}

std::string kernel_source_of(const Program& program, size_t schedule) {
  return KernelWriter(program).write(program.kernel->schedules[schedule]);
}

}  // namespace tessera::check
