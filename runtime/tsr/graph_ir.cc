#include "runtime/tsr/graph_ir.h"

#include <cstring>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/numbers/philox.h"
#include "ir/text/parser.h"
#include "ir/tile/ops.h"
#include "runtime/files/file.h"
#include "runtime/files/text.h"
#include "runtime/format/bundle.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/errors.h"
#include "runtime/tsr/kernel_calls.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

using format::cat;

namespace {

TensorValue seed_value(uint64_t seed) {
  TensorValue value = std::move(*TensorValue::make(DType::U64, {}));
  value.set(0, {.i = int64_t(seed)});
  return value;
}

}  // namespace

GraphIr::GraphIr() {
  graph::register_ops(context_);
  host::register_ops(context_);
  tile::register_ops(context_);
}

int GraphIr::open(const std::string& path) {
  bundle_ = path;
  if (int code = check_bundle_file(path)) return code;
  auto file = format::MappedFile::map(path);
  if (!file) return fail_read(path, file.error().text);
  auto bundle = format::BundleView::open(file->bytes());
  if (!bundle) return fail_content(diag::bad_bundle, path, file->bytes(), "a bundle", bundle.error().text);
  const format::BundleEntry* found = bundle->find(format::graph_ir_name);
  if (!found) {
    return fail(cat(path, " carries no ", format::graph_ir_name,
                    ": it was compiled from below the graph level"));
  }
  if (int code = read(*found)) return code;
  const format::BundleEntry* kernels = bundle->find(format::called_kernels_name);
  return kernels ? read(*kernels) : exit_ok;
}

int GraphIr::read(const format::BundleEntry& text) {
  FileId id = errors().sources().add(cat(bundle_, ":", text.name), std::string(text.bytes));
  auto modules = parse_modules(context_, id, errors().engine());
  if (!modules) return complain();
  std::move(modules->begin(), modules->end(), std::back_inserter(modules_));
  return exit_ok;
}

Op* GraphIr::function(std::string_view name) const {
  for (const auto& module : modules_) {
    if (Op* found = module->find(name)) return found;
  }
  return nullptr;
}

std::vector<std::string> GraphIr::names() const {
  std::vector<std::string> names;
  for (const auto& module : modules_) {
    for (Op* function : *module->body()) names.emplace_back(symbol_name(function));
  }
  return names;
}

Op* GraphIr::entry(std::string_view name) const {
  for (const auto& module : modules_) {
    Op* function = module->find(name);
    if (!function || !function->is(graph::info(graph::OpKind::Func))) continue;
    if (function->attr(graph::attr::Func::role) == "entry") return function;
  }
  return nullptr;
}

std::set<std::string> GraphIr::parameters() const {
  std::set<std::string> names;
  for (const auto& module : modules_) {
    for (Op* function : *module->body()) {
      if (!function->is(graph::info(graph::OpKind::Func))) continue;
      if (function->attr(graph::attr::Func::role) != "entry") continue;
      for (size_t i = 0; i < function->attr(graph::attr::Func::args).size(); ++i) {
        if (described(function, i, "kind") != "param") continue;
        names.insert(std::string(described(function, i, "name")));
      }
    }
  }
  return names;
}

std::vector<Op*> GraphIr::initialisers() const {
  std::vector<Op*> found;
  for (const auto& module : modules_) {
    for (Op* function : *module->body()) {
      if (!function->is(graph::info(graph::OpKind::Func))) continue;
      if (function->attr(graph::attr::Func::role) == "init") found.push_back(function);
    }
  }
  return found;
}

int GraphIr::evaluate(Op* function, std::vector<TensorValue> arguments,
                      graph::EvalOptions options, std::vector<TensorValue>& results) {
  bind_calls(function, options);
  auto evaluated = graph::evaluate(function, std::move(arguments), options, errors().engine());
  if (!evaluated) return complain();
  results = std::move(*evaluated);
  return exit_ok;
}

void GraphIr::bind_calls(Op* function, graph::EvalOptions& options) {
  auto calls = std::make_shared<KernelCalls>(function, modules_);
  if (calls->empty()) return;
  std::function<bool()> may_go_on;
  if (options.may_go_on) may_go_on = [ask = options.may_go_on] { return ask(0); };
  options.call_kernel = [calls, mode = options.mode, may_go_on](
                            Op* call, const std::vector<const TensorValue*>& operands, const DimValues& dims) {
    return calls->run(call, operands, dims, mode, may_go_on, errors().engine());
  };
}

int GraphIr::complain() {
  errors().show();
  return exit_user_error;
}

int initial_values(GraphIr& graph, uint64_t seed, std::vector<InitialValue>& out) {
  std::vector<Op*> functions = graph.initialisers();
  std::set<std::string> used = graph.parameters();
  Progress progress("parameters", functions.size());
  for (Op* function : functions) {
    for (std::string_view name : function->attr(graph::attr::Func::params)) {
      // What no entry uses is no parameter of the bundle.
      if (!used.contains(std::string(name))) continue;
      std::vector<TensorValue> arguments, results;
      arguments.push_back(seed_value(seed ^ philox::stream_of(name)));
      if (int code = graph.evaluate(function, std::move(arguments), {}, results)) return code;
      out.push_back({std::string(name), std::move(results[0])});
    }
    progress.advance();
  }
  return exit_ok;
}

bool to_value(const format::TensorView& tensor, TensorValue& value) {
  std::optional<DType> dtype = parse_dtype(format::dtype_name(tensor.dtype));
  if (!dtype) return false;
  std::optional<TensorValue> made = TensorValue::make(*dtype, tensor.shape);
  if (!made || made->byte_count() != tensor.bytes.size()) return false;
  if (!tensor.bytes.empty()) std::memcpy(made->data(), tensor.bytes.data(), tensor.bytes.size());
  value = std::move(*made);
  return true;
}

format::TensorView to_view(std::string name, const TensorValue& value) {
  const char* data = reinterpret_cast<const char*>(value.data());
  return {std::move(name),
          *format::find_dtype(to_string(value.dtype())),
          value.dims(),
          {data, value.byte_count()}};
}

std::string_view described(Op* function, size_t i, std::string_view key) {
  Attr text = function->attr(graph::attr::Func::args)[i]->get(key);
  return text ? std::string_view(text->string) : std::string_view();
}

}  // namespace tessera::tool
