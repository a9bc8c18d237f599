#include "tools/inspect/inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/driver/version.h"

namespace tessera::inspect {

namespace {

using Json = nlohmann::json;

std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Writes the arrays of numbers, which make up nearly all of it, without building a tree of them.
class Writer {
 public:
  Writer(Trace& trace, const Subject& subject) : trace_(trace), subject_(subject), index_(trace.take_index()) {}

  std::string run() {
    number_files();
    out_ = fmt::format("{{\"format\":\"tessera-inspect\",\"version\":{},\"compiler\":{},\"input\":{}",
                       inspection_version, json_text(driver::version_line("tesserac")),
                       json_text(trace_.sources().ir_name(subject_.input)));
    write_files();
    write_texts();
    write_places();
    write_calls();
    write_times();
    write_passes();
    list("modules", trace_.modules(), [&](const auto& module) { write_module(*module); });
    list("code", trace_.code(), [&](const CodeRecord& code) { write_code(code); });
    write_inlined();
    write_layouts();
    out_ += fmt::format(",\"report\":{}}}\n", subject_.report);
    return std::move(out_);
  }

 private:
  template <typename Range, typename F>
  void list(std::string_view key, const Range& range, F&& write) {
    out_ += fmt::format(",\"{}\":", key);
    items(range, write);
  }

  template <typename Range, typename F>
  void items(const Range& range, F&& write) {
    out_ += '[';
    bool first = true;
    for (const auto& item : range) {
      if (!first) out_ += ',';
      first = false;
      write(item);
    }
    out_ += ']';
  }

  /// The source itself is the first; the others follow in the order in which places name them.
  void number_files() {
    files_.push_back(subject_.input);
    for (const Loc& place : trace_.pool().places()) {
      if (std::find(files_.begin(), files_.end(), place.file) == files_.end()) files_.push_back(place.file);
    }
    for (size_t i = 0; i < files_.size(); ++i) number_of_[files_[i]] = i;
  }

  void write_files() {
    list("files", files_, [&](FileId id) {
      const SourceFile& file = trace_.sources().file(id);
      out_ += fmt::format("{{\"name\":{}", json_text(trace_.sources().ir_name(id)));
      if (file.has_text()) out_ += fmt::format(",\"text\":{}", json_text(file.text()));
      out_ += '}';
    });
  }

  void write_texts() {
    list("texts", trace_.pool().texts(), [&](std::string_view text) { out_ += json_text(text); });
  }

  void write_places() {
    list("places", trace_.pool().places(), [&](const Loc& place) {
      out_ += fmt::format("{},{},{},{}", number_of_.at(place.file), place.line, place.column, place.length);
    });
  }

  /// Which lines call which functions.
  void write_calls() {
    std::set<std::array<size_t, 5>> calls;
    for (const frontend::CallSite& call : index_.calls) {
      auto caller_file = number_of_.find(call.loc.file), callee_file = number_of_.find(call.callee.file);
      if (caller_file == number_of_.end() || callee_file == number_of_.end()) continue;
      frontend::Extent caller = frontend::extent_of(trace_.sources(), call.loc);
      frontend::Extent callee = frontend::extent_of(trace_.sources(), call.callee);
      for (uint32_t line = caller.line; line <= caller.end_line; ++line) {
        calls.insert({caller_file->second, line, callee_file->second, callee.line, callee.end_line});
      }
    }
    list("calls", calls, [&](const auto& call) { out_ += fmt::format("{}", fmt::join(call, ",")); });
  }

  void write_times() {
    list("times", subject_.times, [&](const driver::StageTime& time) {
      out_ += fmt::format("{{\"stage\":{},\"ms\":{:.3f}}}", json_text(time.stage), time.milliseconds);
    });
  }

  /// Of the passes that ran, what each does.
  void write_passes() {
    std::map<std::string_view, std::string_view> summaries;
    for (const auto& module : trace_.modules()) {
      for (const PassRecord& record : module->passes) {
        if (record.pass) summaries[record.pass->name] = record.pass->summary;
      }
    }
    out_ += ",\"passes\":{";
    bool first = true;
    for (auto [name, summary] : summaries) {
      out_ += fmt::format("{}{}:{}", first ? "" : ",", json_text(name), json_text(summary));
      first = false;
    }
    out_ += '}';
  }

  void write_module(const ModuleRecord& module) {
    out_ += fmt::format("{{\"name\":{},\"target\":{},\"level\":\"{}\"", json_text(module.name),
                        module.machine ? json_text(module.machine->name) : "null", to_string(module.level));
    list("units", module.units, [&](const std::string& unit) { out_ += json_text(unit); });
    list("states", module.passes, [&](const PassRecord& record) { write_state(record, module); });
    if (module.graph) write_graph(module);
    if (!module.layouts.empty()) write_kernel_layouts(module);
    out_ += '}';
  }

  void write_graph(const ModuleRecord& module) {
    out_ += fmt::format(",\"graph\":{{\"unit\":{},\"state\":{}", module.graph_unit, module.graph_state);
    list("values", module.graph->values, [&](const GraphValue& value) {
      out_ += fmt::format("{{\"name\":{},\"type\":{},\"op\":{}{}}}", json_text(value.name), json_text(value.type),
                          value.op, value.is_param ? ",\"param\":true" : "");
    });
    list("ops", module.graph->ops, [&](const GraphOp& op) {
      out_ += fmt::format("{{\"name\":{},\"line\":{},\"call\":{},\"around\":{},\"in\":[{}],\"out\":[{}]",
                          json_text(op.name), op.line, number_of_call(*module.context, op.call), op.around,
                          fmt::join(op.in, ","), fmt::join(op.out, ","));
      list("kernels", op.kernels, [&](const std::string& kernel) { out_ += json_text(kernel); });
      out_ += '}';
    });
    out_ += '}';
  }

  /// The calls that ops of graphs come from are numbered anew, from 1, each after the call around it.
  size_t number_of_call(const Context& context, uint32_t call) {
    if (call == 0) return 0;
    if (auto known = calls_.find(call); known != calls_.end()) return known->second;
    const InlinedCall& made = context.calls()[call];
    size_t around = number_of_call(context, made.at.call);
    inlined_.push_back({&made, around});
    return calls_[call] = inlined_.size();
  }

  void write_inlined() {
    list("inlined", inlined_, [&](const auto& call) {
      auto file = number_of_.find(call.first->at.file);
      out_ += fmt::format("{{\"name\":{},\"around\":{}", json_text(call.first->name), call.second);
      if (file != number_of_.end()) out_ += fmt::format(",\"file\":{},\"line\":{}", file->second, call.first->at.line);
      out_ += '}';
    });
  }

  void write_kernel_layouts(const ModuleRecord& module) {
    list("layouts", module.layouts, [&](const auto& entry) {
      const auto& [kernel, layouts] = entry;
      out_ += fmt::format("{{\"kernel\":{}", json_text(kernel));
      list("tiles", layouts.tiles, [&](const std::string& text) { out_ += json_text(drawn(text)); });
      list("accesses", layouts.accesses, [&](const AccessRecord& access) { write_access(access); });
      out_ += '}';
    });
  }

  void write_access(const AccessRecord& access) {
    const layout::WorstAccess& worst = access.worst;
    out_ += fmt::format("{{\"op\":{},\"place\":{},\"layout\":{},\"shared\":{},\"width\":{},\"warp\":{},\"register\":{},"
                        "\"together\":{},\"conflicts\":{}",
                        json_text(access.op), access.place, json_text(drawn(access.layout)),
                        json_text(drawn(access.shared)), access.width, worst.warp, worst.reg, worst.together,
                        worst.conflicts);
    list("words", worst.words, [&](const auto& words) { out_ += fmt::format("[{}]", fmt::join(words, ",")); });
    out_ += '}';
  }

  /// The text of a layout, whose tables are written, too.
  const std::string& drawn(const std::string& layout) { return *layouts_.insert(layout).first; }

  void write_layouts() {
    out_ += ",\"layouts\":{";
    bool first = true;
    for (const std::string& text : layouts_) {
      out_ += fmt::format("{}{}:{}", first ? "" : ",", json_text(text), layout_json(text));
      first = false;
    }
    out_ += '}';
  }

  void write_state(const PassRecord& record, const ModuleRecord& module) {
    Level level = record.pass ? record.pass->leaves : module.level;
    out_ += fmt::format("{{\"level\":\"{}\"", to_string(level));
    if (record.pass) out_ += fmt::format(",\"pass\":\"{}\",\"ms\":{:.3f}", record.pass->name, record.milliseconds);
    if (!record.order.empty()) {
      list("order", record.order, [&](uint32_t unit) { out_ += std::to_string(unit); });
    }
    list("changes", record.changes, [&](const UnitChange& change) {
      out_ += fmt::format("{{\"unit\":{}", change.unit);
      if (change.is_gone) {
        out_ += ",\"gone\":true";
      } else {
        list("edits", change.edits, [&](const LineEdit& edit) {
          out_ += fmt::format("[{},{}", edit.at, edit.removed);
          for (Line line : edit.added) out_ += fmt::format(",{},{}", line.text, line.place);
          out_ += ']';
        });
      }
      out_ += '}';
    });
    out_ += '}';
  }

  void write_code(const CodeRecord& code) {
    out_ += fmt::format("{{\"target\":{},\"kind\":\"{}\"", json_text(code.machine->name),
                        code.machine->is_gpu() ? "ptx" : "asm");
    list("kernels", code.kernels, [&](const CodeRecord::Kernel& kernel) {
      out_ += fmt::format("{{\"name\":{}", json_text(kernel.name));
      if (!kernel.same_as.empty()) {
        out_ += fmt::format(",\"same_as\":{}}}", json_text(kernel.same_as));
        return;
      }
      list("lines", kernel.lines, [&](Line line) { out_ += fmt::format("{},{}", line.text, line.place); });
      out_ += '}';
    });
    out_ += '}';
  }

  Trace& trace_;
  const Subject& subject_;
  frontend::SemanticIndex index_;
  std::vector<FileId> files_;
  std::map<FileId, size_t> number_of_;
  std::map<uint32_t, size_t> calls_;                            ///< numbers of inlined calls
  std::vector<std::pair<const InlinedCall*, size_t>> inlined_;  ///< each with the number of the one around it
  std::set<std::string> layouts_;
  std::string out_;
};

}  // namespace

std::string json_of(Trace& trace, const Subject& subject) { return Writer(trace, subject).run(); }

}  // namespace tessera::inspect
