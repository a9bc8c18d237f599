#include "ir/text/work.h"

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/text/entries.h"
#include "ir/text/verifier.h"

namespace tessera {

Attr work_attr(Context& context, const Work& work) {
  using Entry = entry::Work;
  auto size = [&](Dim dim) { return work.flops ? context.dim(dim) : nullptr; };
  Attr dtype = work.flops && work.dot_dtype ? context.dtype(*work.dot_dtype) : nullptr;
  return entry::make_dict(
      context, {Entry::reads(context, work.reads), Entry::writes(context, work.writes),
                Entry::infinite(context, work.infinite), Entry::flops(size(work.flops)),
                Entry::dot_flops(size(work.dot_flops)), Entry::at_most(context, work.flops && work.at_most),
                Entry::dot_dtype(dtype)});
}

std::optional<Work> read_work(Attr attr) {
  using Entry = entry::Work;
  if (!attr || !entry::problem_of(attr, entry::Dict::Work).empty()) return std::nullopt;
  Work work{.flops = entry::read(attr, Entry::flops),
            .dot_flops = entry::read(attr, Entry::dot_flops),
            .dot_dtype = entry::read(attr, Entry::dot_dtype),
            .at_most = entry::read(attr, Entry::at_most),
            .infinite = entry::read(attr, Entry::infinite),
            .reads = entry::read(attr, Entry::reads),
            .writes = entry::read(attr, Entry::writes)};
  return !work.flops == !work.dot_flops ? std::optional(work) : std::nullopt;
}

void verify_work(Op* op, OpVerifier& verifier) {
  Attr work = op->attr(common::Kernel::work);
  if (!work || read_work(work)) return;
  verifier.error("'work' gives sizes: {{reads, writes, flops, dot_flops}}, not {}", work->text);
}

}  // namespace tessera
