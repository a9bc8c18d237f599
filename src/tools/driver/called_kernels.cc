#include "tools/driver/called_kernels.h"

#include <fmt/format.h>

#include "ir/core/builder.h"
#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"

namespace tessera::driver {

namespace {

/// The entry that makes one call.
class CallBuilder {
 public:
  CallBuilder(Module& module, Op* call) : context_(module.context()), module_(module), call_(call) {}

  void build() {
    OpState state;
    state.info = graph::info(graph::OpKind::Func);
    state.loc = call_->loc();
    state.attributes = {graph::attr::Func::args(described(call_->operand_count(), "x", "input")),
                        graph::attr::Func::results(described(call_->result_count(), "y", {})),
                        graph::attr::Func::role(context_, "entry"),
                        common::Function::symbol(context_, module_.name())};
    Op* function = module_.create(state);
    function->move_to_end(module_.body());
    Block* body = function->region()->add_block();
    std::vector<Value*> operands, results;
    for (unsigned i = 0; i < call_->operand_count(); ++i) {
      std::string_view name = module_.intern(numbered("x", i));
      operands.push_back(body->add_arg(call_->operand(i)->type(), name));
    }
    std::vector<Type> types;
    for (unsigned i = 0; i < call_->result_count(); ++i) types.push_back(call_->result(i)->type());
    Builder builder(module_);
    builder.set_end(body);
    builder.set_loc(call_->loc());
    std::vector<OpAttr> attributes(call_->attributes().begin(), call_->attributes().end());
    Op* copy = builder.op(graph::info(graph::OpKind::KernelCall), {operands}, types,
                          std::move(attributes));
    for (unsigned i = 0; i < copy->result_count(); ++i) results.push_back(copy->result(i));
    builder.op(graph::info(graph::OpKind::Return), {results}, {});
  }

 private:
  static std::string numbered(const char* prefix, unsigned i) {
    return fmt::format("{}{}", prefix, i);
  }

  /// A list of dicts with names, and with `kind` where one is given.
  Attr described(unsigned count, const char* prefix, std::string_view kind) {
    std::vector<Attr> list;
    for (unsigned i = 0; i < count; ++i) {
      std::vector<NamedAttr> entries;
      if (!kind.empty()) entries.emplace_back("kind", context_.string(kind));
      entries.emplace_back("name", context_.string(numbered(prefix, i)));
      list.push_back(context_.dict(std::move(entries)));
    }
    return context_.array(std::move(list));
  }

  Context& context_;
  Module& module_;
  Op* call_;
};

}  // namespace

std::vector<std::unique_ptr<Module>> kernel_calls_of(Module& graph, SourceManager& sources) {
  std::vector<std::unique_ptr<Module>> calls;
  for (Op* function : *graph.body()) {
    size_t n = 0;
    walk(function, [&](Op* op) {
      if (!op->is(graph::info(graph::OpKind::KernelCall))) return;
      calls.push_back(std::make_unique<Module>(graph.context(), sources,
                                               fmt::format("{}.{}", symbol_name(function), n++),
                                               Level::Graph));
      CallBuilder(*calls.back(), op).build();
    });
  }
  return calls;
}

}  // namespace tessera::driver
