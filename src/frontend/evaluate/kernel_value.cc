#include "frontend/evaluate/kernel_value.h"

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/fixes/operand_text.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

Datum kernel_member(Evaluator& evaluator, const Function& kernel, const ast::Identifier& name) {
  if (name.text == "with_schedule") {
    return Datum::object(std::make_shared<KernelMember>(&kernel));
  }
  evaluator
      .report(diag::unknown_member, name.loc, fmt::format("kernel '{}'", kernel.name), name.text)
      .help("a kernel has with_schedule");
  return Datum::poison();
}

void report_without_result(const Blame& blame, const Function& kernel) {
  blame.report(diag::kernel_without_result, kernel.loc, kernel.name)
      .help("write '-> Tensor[…]' for what it returns, or 'out: Region[write] Tensor[…]' for what it stores to");
}

namespace {

/// `with_schedule(BM=2)`: the arguments are those of a schedule.
void help_keys(const Evaluator& evaluator, DiagnosticEngine::Builder& builder,
               const std::vector<CallArgument>& arguments) {
  const SourceManager& sources = evaluator.session().sources();
  Loc first = arguments.front().name_loc, last = arguments.back().loc;
  std::string message = fmt::format("keys stand in a schedule: with_schedule(Schedule({}=…))", arguments[0].name);
  bool is_written = first.known() && is_operand(sources, last) && !evaluator.session().is_builtin(first);
  if (!is_written) {
    builder.help(std::move(message));
    return;
  }
  // The brackets of a tuple are no part of its place.
  std::string_view line = sources.file(last.file).line(last.line);
  size_t end = last.column - 1 + last.length;
  bool is_bracketed = arguments.back().value.is(DatumKind::Tuple) && end < line.size() && line[end] == ')' &&
                      line[end - 1] != ')';
  if (is_bracketed) last.length += 1;
  builder.fix(std::move(message), {{first.before(), "Schedule("}, {last.behind(), ")"}});
}

}  // namespace

Datum KernelMember::call(Evaluator& evaluator, const std::vector<CallArgument>& arguments,
                         Loc loc) const {
  if (arguments.size() != 1 || !arguments[0].name.empty()) {
    bool has_key = !arguments.empty() && !arguments[0].name.empty();
    auto builder = evaluator.report(diag::wrong_argument_count, loc, "with_schedule",
                                    has_key ? "1 argument without a name" : "1 argument",
                                    counted_verb(arguments.size(), has_key ? "named one" : ""));
    if (has_key) help_keys(evaluator, builder, arguments);
    return Datum::poison();
  }
  const Datum& schedule = arguments[0].value;
  if (!schedule.is(DatumKind::Schedule)) {
    auto builder = evaluator.report(diag::wrong_kind, arguments[0].loc, "the argument of 'with_schedule'",
                                    frontend::describe(schedule), "a schedule");
    help_dict(builder, schedule);
    return Datum::poison();
  }
  size_t count = kernel_->schedules.size() + 1, bytes = count * sizeof(kernel_->schedules[0]);
  if (!evaluator.may_spend(count, loc, bytes)) return Datum::poison();
  spending().bytes += int64_t(bytes);
  Function* scheduled = evaluator.session().new_function();
  scheduled->schedules.reserve(count);  // no more than is counted
  *scheduled = *kernel_;
  scheduled->schedules.emplace_back(schedule, arguments[0].loc);
  return Datum::function(scheduled);
}

}  // namespace tessera::frontend
