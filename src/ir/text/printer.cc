#include "ir/text/printer.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace tessera {

struct PrintNames::Tables {
  std::unordered_map<Value*, std::string> values;
  std::unordered_map<Block*, int> blocks;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> suffixes;  ///< the last that was tried, by name
  int next_value = 0;
  int next_block = 0;
};

PrintNames::PrintNames() : tables_(std::make_unique<Tables>()) {}
PrintNames::~PrintNames() = default;
PrintNames::PrintNames(PrintNames&&) noexcept = default;
PrintNames& PrintNames::operator=(PrintNames&&) noexcept = default;

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
    out_ += " {";
    end_line();
    indent_ = 1;
    for (Op* op : *m.body()) top_level(op);
    out_ += '}';
    end_line();
  }

  void top_level(Op* op) {
    if (!options_.names) own_names_ = PrintNames();
    names_ = &(options_.names ? options_.names : &own_names_)->tables();
    statement(op);
  }

  std::string take() { return std::move(out_); }

 private:
  std::string name_of(Value* value) {
    auto [it, inserted] = names_->values.try_emplace(value);
    if (!inserted) return it->second;
    std::string name;
    if (value->name().empty()) {
      name = fmt::format("%{}", names_->next_value++);
    } else {
      name = fmt::format("%{}", value->name());
      for (int& n = names_->suffixes[name]; !names_->taken.insert(name).second;) {
        name = fmt::format("%{}_{}", value->name(), ++n);
      }
    }
    it->second = name;
    return name;
  }

  std::string name_of(Block* block) {
    auto [it, inserted] = names_->blocks.try_emplace(block, names_->next_block);
    if (inserted) ++names_->next_block;
    return fmt::format("^{}", it->second);
  }

  void end_line(Op* op = nullptr) {
    out_ += '\n';
    if (options_.lines) options_.lines->push_back(op);
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
    end_line(op);
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
      if ((op->info().has(Function) && a.name == "symbol") || op == options_.bare) continue;
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
    out_ += " {";
    end_line(op);
    ++indent_;
    for (Block* block = entry; block; block = block->next()) {
      if (block != entry || region->block_count() > 1) {
        out_.append(size_t(indent_) * 2 - 1, ' ');
        out_ += name_of(block);
        if (block != entry && block->arg_count()) parameters(block);
        out_ += ':';
        end_line();
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
  PrintNames own_names_;
  PrintNames::Tables* names_ = nullptr;
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
