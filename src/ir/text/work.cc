#include "ir/text/work.h"

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "ir/text/verifier.h"

namespace tessera {

Attr work_attr(Context& context, const Work& work) {
  std::vector<NamedAttr> entries{{"reads", context.dim(work.reads)},
                                 {"writes", context.dim(work.writes)}};
  if (work.infinite) entries.push_back({"infinite", context.boolean(true)});
  if (work.flops) {
    entries.push_back({"flops", context.dim(work.flops)});
    entries.push_back({"dot_flops", context.dim(work.dot_flops)});
    if (work.at_most) entries.push_back({"at_most", context.boolean(true)});
    if (work.dot_dtype)
      entries.push_back({"dot_dtype", context.dtype(*work.dot_dtype)});
  }
  return context.dict(std::move(entries));
}

std::optional<Work> read_work(Attr attr) {
  if (!attr || !attr->is(AttrKind::Dict)) return std::nullopt;
  auto size = [&](std::string_view name) {
    Attr value = attr->get(name);
    return value ? value->dim : nullptr;
  };
  auto flag = [&](std::string_view name) {
    Attr value = attr->get(name);
    return value && value->is(AttrKind::Bool) && value->boolean;
  };
  Work work{.flops = size("flops"),
            .dot_flops = size("dot_flops"),
            .at_most = flag("at_most"),
            .infinite = flag("infinite"),
            .reads = size("reads"),
            .writes = size("writes")};
  if (Attr dtype = attr->get("dot_dtype")) {
    if (!dtype->is(AttrKind::DType)) return std::nullopt;
    work.dot_dtype = dtype->dtype;
  }
  bool is_whole = work.reads && work.writes && !work.flops == !work.dot_flops;
  return is_whole ? std::optional(work) : std::nullopt;
}

void verify_work(Op* op, OpVerifier& verifier) {
  Attr work = op->attr(common::Kernel::work);
  if (!work || read_work(work)) return;
  verifier.error("'work' gives sizes: {{reads, writes, flops, dot_flops}}, not {}", work->text);
}

}  // namespace tessera
