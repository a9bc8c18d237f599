#include "ir/core/printer.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace tessera {

namespace {

class Printer {
 public:
  Printer(const SourceManager& sources, const PrintOptions& options)
      : sources_(sources), options_(options) {}

  void module(Module& m) {
    out_ += fmt::format("module @{} level({}) version({})", m.name(), to_string(m.level()),
                        ir_text_version);
    if (!m.attributes().empty()) {
      out_ += " {";
      bool first = true;
      for (const auto& [name, value] : m.attributes()) {
        out_ += fmt::format("{}{} = {}", first ? "" : ", ", name, value->text);
        first = false;
      }
      out_ += "}";
    }
    out_ += " {\n";
    indent_ = 1;
    for (Op* op : *m.body()) top_level(op);
    out_ += "}\n";
  }

  void top_level(Op* op) {
    values_.clear();
    blocks_.clear();
    taken_.clear();
    next_value_ = 0;
    next_block_ = 0;
    statement(op);
  }

  std::string take() { return std::move(out_); }

 private:
  std::string name_of(Value* value) {
    auto [it, inserted] = values_.try_emplace(value);
    if (!inserted) return it->second;
    std::string name;
    if (value->name().empty()) {
      name = fmt::format("%{}", next_value_++);
    } else {
      name = fmt::format("%{}", value->name());
      for (int& n = suffixes_[name]; !taken_.insert(name).second;) {
        name = fmt::format("%{}_{}", value->name(), ++n);
      }
    }
    it->second = name;
    return name;
  }

  std::string name_of(Block* block) {
    auto [it, inserted] = blocks_.try_emplace(block, next_block_);
    if (inserted) ++next_block_;
    return fmt::format("^{}", it->second);
  }

  void indent() { out_.append(size_t(indent_) * 2, ' '); }

  void statement(Op* op) {
    indent();
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Value* result = op->result(i);
      out_ += fmt::format("{}{}: {}", i ? ", " : "", name_of(result), result->type()->text);
    }
    if (op->result_count()) out_ += " = ";
    out_ += op->name();
    if (op->info().has(Function)) out_ += " @" + std::string(symbol_name(op));
    if (op->info().has(Function) && op->region_count() && op->region()->front()) {
      parameters(op->region()->front());
    }
    operands(op);
    attributes(op);
    for (unsigned i = 0; i < op->region_count(); ++i) region(op, op->region(i));
    if (options_.locations && op->loc().known()) {
      std::string_view file = sources_.ir_name(op->loc().file);
      out_ += fmt::format(" loc({}:{}:{})", quote(file), op->loc().line, op->loc().column);
    }
    out_ += '\n';
  }

  void parameters(Block* block) {
    out_ += '(';
    for (unsigned i = 0; i < block->arg_count(); ++i) {
      Value* arg = block->arg(i);
      out_ += fmt::format("{}{}: {}", i ? ", " : "", name_of(arg), arg->type()->text);
    }
    out_ += ')';
  }

  void value_list(const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) out_ += (i ? ", " : "") + name_of(values[i]);
  }

  void operands(Op* op) {
    bool first = true;
    auto separate = [&] {
      out_ += first ? " " : ", ";
      first = false;
    };
    for (unsigned s = 0; s < op->slot_count(); ++s) {
      separate();
      bool one = op->info().slot(SlotKind::Operand, s).arity == Arity::One;
      if (!one) out_ += '[';
      value_list(op->ins(s));
      if (!one) out_ += ']';
    }
    for (unsigned i = 0; i < op->successors().size(); ++i) {
      separate();
      out_ += name_of(op->successors()[i].block);
      std::vector<Value*> arguments = op->successor_args(i);
      if (arguments.empty()) continue;
      out_ += '(';
      value_list(arguments);
      out_ += ')';
    }
  }

  void attributes(Op* op) {
    bool first = true;
    for (const OpAttr& a : op->attributes()) {
      if (op->info().has(Function) && a.name == "symbol") continue;
      out_ += fmt::format("{}{} = {}", first ? " {" : ", ", a.name, a.value->text);
      first = false;
    }
    if (!first) out_ += '}';
  }

  void region(Op* op, Region* region) {
    Block* entry = region->front();
    if (op->info().has(Function)) {
      if (!entry) return;  // a declaration
    } else {
      out_ += " do";
      if (entry && entry->arg_count()) parameters(entry);
    }
    out_ += " {\n";
    ++indent_;
    for (Block* block = entry; block; block = block->next()) {
      if (block != entry || region->block_count() > 1) {
        out_.append(size_t(indent_) * 2 - 1, ' ');
        out_ += name_of(block);
        if (block != entry && block->arg_count()) parameters(block);
        out_ += ":\n";
      }
      for (Op* inner : *block) statement(inner);
    }
    --indent_;
    indent();
    out_ += '}';
  }

  const SourceManager& sources_;
  const PrintOptions& options_;
  std::string out_;
  int indent_ = 0;
  std::unordered_map<Value*, std::string> values_;
  std::unordered_map<Block*, int> blocks_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> suffixes_;  ///< the last that was tried, by name
  int next_value_ = 0;
  int next_block_ = 0;
};

}  // namespace

std::string print(Module& module, const PrintOptions& options) {
  Printer printer(module.sources(), options);
  printer.module(module);
  return printer.take();
}

std::string print(Op* op, const PrintOptions& options) {
  Printer printer(op->module()->sources(), options);
  printer.top_level(op);
  return printer.take();
}

}  // namespace tessera
