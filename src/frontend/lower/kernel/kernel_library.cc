#include "frontend/lower/kernel/kernel_library.h"

#include <algorithm>
#include <array>

#include "frontend/lower/kernel/captures.h"
#include "frontend/lower/kernel/kernel_builder.h"
#include "frontend/values/embedded.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

const Function* kernel_in(const SourceModule& module, std::string_view name) {
  Binding* binding = module.scope->find_here(name);
  if (!binding || !binding->value.is(DatumKind::Function)) return nullptr;
  const Function& function = binding->value.as_function();
  return function.kind == FunctionKind::Kernel ? &function : nullptr;
}

}  // namespace

bool is_operand(const TypePattern& type) {
  return type.kind == PatternKind::Tensor || type.kind == PatternKind::KTile;
}

bool is_cache(const TypePattern& type) {
  return type.kind == PatternKind::State && type.state == StateKind::KVCache;
}

std::vector<TypePattern> kernel_results(const Signature& signature) {
  if (signature.result) {
    return signature.result->kind == PatternKind::Tuple ? signature.result->elements
                                                        : std::vector{*signature.result};
  }
  for (const SignatureParameter& parameter : signature.parameters) {
    if (parameter.type.kind == PatternKind::KTile) return {parameter.type};
  }
  return {};
}

/// `matmul_batched` is in the file of that name or in `matmul`.
const Function* SourceKernels::find_library(std::string_view name) {
  for (std::string_view file = name; !file.empty();) {
    SourceModule* module = session_.load_library(fmt::format("tessera.{}", file));
    if (module) {
      if (const Function* function = kernel_in(*module, name)) return function;
    }
    size_t underscore = file.rfind('_');
    file = underscore == std::string_view::npos ? std::string_view() : file.substr(0, underscore);
  }
  return nullptr;
}

const Function* SourceKernels::find(std::string_view name) {
  auto it = named_.find(name);
  return it != named_.end() ? it->second : find_library(name);
}

std::string SourceKernels::symbol_of(const Function& function) {
  for (const auto& [name, known] : named_) {
    if (known == &function) return name;
  }
  std::string name = function.name;
  const Function* holder = find(name);
  for (unsigned n = 1; holder && holder != &function; ++n) {
    name = fmt::format("{}.{}", function.name, n);
    auto it = named_.find(name);
    holder = it == named_.end() ? nullptr : it->second;
  }
  named_[name] = &function;
  return name;
}

std::string SourceKernels::name_function(const Function& function) {
  for (const auto& [name, known] : functions_) {
    if (known == &function) return name;
  }
  std::string name = fmt::format("{}.{}", function.name.empty() ? "fn" : function.name, functions_.size());
  functions_[name] = &function;
  return name;
}

const ScheduleTable* SourceKernels::table(const std::string& machine) {
  auto [it, fresh] = tables_.try_emplace(machine);
  const Machine* found = fresh ? find_machine(machine) : nullptr;
  if (found) {
    std::string path = fmt::format("schedules/{}.json", found->path_name());
    if (auto text = embedded_file(path)) {
      auto read = ScheduleTable::read(session_.context(), path, *text, session_.diagnostics());
      if (read) it->second = std::move(*read);
    }
    // References into a map stay when it grows.
    const ScheduleTable* base = found->gpu.schedules_of.empty() ? nullptr : table(found->gpu.schedules_of);
    if (base && it->second) it->second->inherit(*base);
    if (base && !it->second) it->second = *base;
  }
  return it->second ? &*it->second : nullptr;
}

const ScheduleTable* SourceKernels::table_for(const Function& function, const std::string& machine) {
  return session_.is_builtin(function.loc) ? table(machine) : nullptr;
}

void report_unknown_kernel(Session& session, std::string_view name, Loc loc) {
  session.report(diag::unknown_kernel, loc, name)
      .help("a dump of the graph holds calls of a program's kernels and not their source, nor that of sorts, running "
            "sums and scatter_add of the library; one of --dump=sched holds what was made of them");
}

Result<schedule::KernelInstance> SourceKernels::instantiate(
    Module& module, const schedule::KernelRequest& request) {
  const Function* function = find(request.kernel);
  if (!function) return report_unknown_kernel(session_, request.kernel, request.loc), failure;
  return KernelBuilder(session_, module, *function, request, table_for(*function, request.machine), functions_).build();
}

bool SourceKernels::has_parts(std::string_view kernel) {
  const Function* function = find(kernel);
  if (!function || !session_.is_builtin(function->loc)) return false;
  const Function* parts = find_library(fmt::format("{}_parts", kernel));
  if (!parts) return false;
  Evaluator evaluator(session_);
  // Parts of attention are others: no dtype of a sum says what they hold.
  auto has = [&](std::string_view name) {
    const std::vector<SignatureParameter>& parameters = session_.signature(evaluator, *parts).parameters;
    return std::ranges::any_of(parameters, [&](const SignatureParameter& each) { return each.name == name; });
  };
  return has("Q") && has("total");
}

/// Nothing when an operand's dtype is open, an argument has no default, a size is given by the scopes around it or a
/// clause does not hold for all sizes.
std::optional<schedule::KernelRequest> SourceKernels::own_request(const Function& function) {
  Evaluator evaluator(session_);
  const Signature& signature = session_.signature(evaluator, function);
  if (signature.failed || !signature.dtypes.empty()) return std::nullopt;
  for (const std::string& symbol : captures_of(session_, std::array{&function}).symbols) {
    if (!signature.declares_dim(symbol)) return std::nullopt;
  }
  Scope* scope = session_.new_scope(function.scope);
  for (const DeclaredSymbol& symbol : signature.dims) {
    scope->set(symbol.name, Datum::dim(session_.dims().symbol(symbol.name)), symbol.loc);
  }
  for (const SignatureParameter& parameter : signature.parameters) {
    if (!parameter.default_value) continue;
    scope->set(parameter.name, evaluator.evaluate(*parameter.default_value, *function.scope),
               parameter.loc);
  }
  for (const ast::Expr* clause : function.def->where) {
    Session::Reports quiet(session_, Reporting::Nothing);
    Datum holds = evaluator.evaluate(*clause, *scope);
    if (!holds.is(DatumKind::Bool) || !holds.as_bool()) return std::nullopt;  // it is for calls to see to
  }
  schedule::KernelRequest request;
  for (const SignatureParameter* parameter : ordered_parameters(signature)) {
    const TypePattern& type = parameter->type;
    if (parameter->default_value && parameter->name != seed_of_call) {
      if (is_operand(type)) request.operands.push_back(nullptr);
      continue;
    }
    if (!is_operand(type)) return std::nullopt;
    auto dims = evaluate_dims(evaluator, type, *scope);
    if (!dims) return std::nullopt;
    request.operands.push_back(session_.context().tensor(*dims, type.dtype, type.policies));
  }
  request.kernel = symbol_of(function);
  request.symbol = function.name;
  request.loc = function.loc;
  return request;
}

void SourceKernels::explore(const Function& function, std::string_view machine) {
  Evaluator evaluator(session_, Arguments::Open);
  const Signature& signature = session_.signature(evaluator, function);
  if (signature.failed || function.def->is_declaration()) return;
  explore_dtypes(session_, signature, [&](const DTypeChoices& dtypes) {
    auto request = open_request(function, signature, dtypes);
    if (!request) return;
    request->machine = std::string(machine);
    Module scratch(session_.context(), session_.sources(), "explored", Level::Schedule);
    const ScheduleTable* table = table_for(function, request->machine);
    (void)KernelBuilder(session_, scratch, function, *request, table, functions_, Arguments::Open).build();
  });
}

/// Dims are the kernel's own symbols, and an `int` is a size. Other arguments are left out, and unknown.
std::optional<schedule::KernelRequest> SourceKernels::open_request(const Function& function, const Signature& signature,
                                                                   const DTypeChoices& dtypes) {
  Evaluator evaluator(session_, Arguments::Open);
  schedule::KernelRequest request;
  Scope* scope = session_.new_scope(function.scope);
  for (const DeclaredSymbol& symbol : signature.dims) {
    scope->set(symbol.name, Datum::dim(session_.dims().symbol(symbol.name)), symbol.loc);
  }
  for (const std::string& symbol : captures_of(session_, std::array{&function}).symbols) {
    request.sizes[symbol] = session_.dims().symbol(symbol);
  }
  for (const SignatureParameter* parameter : ordered_parameters(signature)) {
    const TypePattern& type = parameter->type;
    if (is_cache(type)) return std::nullopt;
    if (signature.declares_dim(parameter->name)) {
      request.arguments[parameter->name] = session_.context().dim(session_.dims().symbol(parameter->name));
    } else if (type.kind == PatternKind::DTypeParam && !parameter->default_value) {
      request.arguments[parameter->name] = session_.context().dtype(dtypes.at(parameter->name));
    }
    if (!is_operand(type)) continue;
    bool is_left_out = parameter->default_value && parameter->name != seed_of_call;
    request.operands.push_back(nullptr);
    if (is_left_out) continue;
    auto dims = evaluate_dims(evaluator, type, *scope);
    if (!dims) return std::nullopt;
    DType dtype = type.dtype_symbol.empty() ? type.dtype : dtypes.at(type.dtype_symbol);
    request.operands.back() = session_.context().tensor(*dims, dtype, type.policies);
  }
  request.kernel = request.symbol = function.name;
  request.loc = function.loc;
  return request;
}

std::vector<schedule::KernelRequest> SourceKernels::own_kernels(const SourceModule& module,
                                                                std::string_view machine) {
  std::vector<schedule::KernelRequest> requests;
  for (const ast::Declaration& declaration : module.unit.declarations) {
    auto request = own_kernel(module, *declaration.stmt, machine);
    if (request) requests.push_back(std::move(*request));
  }
  return requests;
}

std::optional<schedule::KernelRequest> SourceKernels::own_kernel(const SourceModule& module,
                                                                 const ast::Stmt& stmt,
                                                                 std::string_view machine) {
  const auto* def = ast::as<ast::Def>(&stmt);
  const Function* function = def ? kernel_in(module, def->name.text) : nullptr;
  if (!function || function->def != def || def->is_declaration()) return std::nullopt;
  auto request = own_request(*function);
  if (request) request->machine = std::string(machine);
  return request;
}

}  // namespace tessera::frontend
