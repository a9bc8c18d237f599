// The byte form of plans (docs/plan.md). Encoder and decoder mirror each other record by record;
// every byte carries meaning or is checked to be zero, so that a plan has one encoding.

#include <algorithm>

#include "runtime/files/bytes.h"
#include "runtime/files/text.h"
#include "runtime/format/plan.h"
#include "runtime/format/plan_opcodes.h"

namespace tessera::format {

namespace {

constexpr std::string_view magic = "TSRPLAN\n";

size_t padding(size_t size) {
  return (plan_alignment - size % plan_alignment) % plan_alignment;
}

void put_text(std::string& out, std::string_view text) {
  put_u32(out, uint32_t(text.size()));
  out += text;
}

void put_list(std::string& out, const std::vector<uint32_t>& list) {
  put_u32(out, uint32_t(list.size()));
  for (uint32_t item : list) put_u32(out, item);
}

void put_expr(std::string& out, const Expr& expr) {
  put_u32(out, uint32_t(expr.size()));
  for (const ExprInstr& instr : expr) {
    put_u8(out, uint8_t(instr.op));
    if (instr.op == ExprOp::Const) put_u64(out, uint64_t(instr.value));
    if (instr.op == ExprOp::Dim) put_u32(out, uint32_t(instr.value));
  }
}

void put_buffer(std::string& out, const PlanBuffer& buffer) {
  put_u8(out, uint8_t(buffer.kind));
  put_u8(out, uint8_t(buffer.dtype));
  put_text(out, buffer.name);
  put_list(out, buffer.shape);
  put_u32(out, buffer.alignment);
  put_u32(out, buffer.first_step);
  put_u32(out, buffer.last_step);
  put_u64(out, buffer.offset);
  put_u32(out, buffer.device);
  put_u8(out, uint8_t(buffer.space));
}

struct StepEncoder {
  std::string& out;

  template <typename... Fields>
  void put(Fields... fields) const {
    (put_u32(out, fields), ...);
  }

  void operator()(const LaunchStep& step) const {
    put_u32(out, step.kernel);
    put_list(out, step.buffers);
    put_list(out, step.dims);
    put(step.device, step.stream);
  }
  void operator()(const SelectStep& step) const {
    put(step.condition, step.then_steps, step.else_steps);
  }
  void operator()(const IfStep& step) const {
    put(step.buffer, step.then_steps, step.else_steps);
  }
  void operator()(const ForStep& step) const {
    put(step.dim, step.lo, step.hi, step.body_steps);
  }
  void operator()(const CopyStep& step) const {
    put(step.to, step.from);
  }
  void operator()(const FillStep& step) const {
    put_u32(out, step.buffer);
    put_u8(out, step.width);
    put_u64(out, step.pattern);
  }
  void operator()(const AliasStep& step) const {
    put(step.view, step.of, step.offset);
  }
  void operator()(const CheckStep& step) const {
    put(step.buffer);
    put_text(out, step.message);
  }
  void operator()(const WhileStep& step) const {
    put(step.buffer, step.condition_steps, step.body_steps);
  }
  void operator()(const SwapStep& step) const {
    put(step.a, step.b);
  }
  void operator()(const PrintStep& step) const {
    put_list(out, step.grid);
    put_u32(out, uint32_t(step.items.size()));
    for (const PrintItem& item : step.items) {
      put_text(out, item.label);
      put_text(out, item.source);
      put(item.values, item.shown);
      put_list(out, item.extents);
      put_list(out, item.trip_counts);
      put(item.loop);
    }
  }
  void operator()(const RecordStep& step) const { put(step.event, step.device, step.stream); }
  void operator()(const WaitStep& step) const { put(step.event, step.device, step.stream); }
  void operator()(const PeerCopyStep& step) const { put(step.to, step.from, step.stream); }
  void operator()(const HostCallStep& step) const {
    put_text(out, step.function);
    put_list(out, step.buffers);
    put(step.results);
  }
  void operator()(const ExternalStep& step) const {
    put_text(out, step.library);
    put_text(out, step.function);
    put_list(out, step.buffers);
    put(step.results);
    put_list(out, step.dims);
    put(step.device, step.stream);
  }
  void operator()(const CollectiveStep& step) const {
    put_u8(out, uint8_t(step.kind));
    put_u8(out, uint8_t(step.combine));
    put_text(out, step.axis);
    put(step.to, step.from, step.device, step.stream);
  }
};

/// An opcode, the length of the fields, the fields.
void put_step(std::string& out, const PlanStep& step) {
  put_u16(out, step_info(step).opcode);
  std::string fields;
  std::visit(StepEncoder{fields}, step);
  put_u32(out, uint32_t(fields.size()));
  out += fields;
}

class PlanDecoder {
 public:
  explicit PlanDecoder(std::string_view bytes) : bytes_(bytes), in_(bytes) {}

  Result<Plan> decode() {
    if (!bytes_.starts_with(magic)) return error("it does not start as a plan does");
    in_.raw(magic.size());
    if (uint32_t version = in_.u32(); version != plan_version) {
      return error("it has version ", version, ", and this build reads ", plan_version,
                   ": compile the source with a tesserac of this build");
    }
    if (in_.u32() != 0) return error("its flags are not zero");
    if (uint64_t size = in_.u64(); size != bytes_.size()) {
      return error("it says ", size, " bytes and has ", bytes_.size());
    }
    read_tables();
    read_data();
    if (in_.failed() && error_.empty()) error_ = "it ends too early";
    if (error_.empty() && in_.remaining() != 0) error_ = "more bytes follow its end";
    if (!error_.empty()) return error(error_);
    return std::move(plan_);
  }

 private:
  void refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    in_.fail();
  }

  /// A count of records of at least `least` bytes each; refuses what cannot fit.
  uint32_t count(size_t least) {
    uint32_t n = in_.u32();
    if (n > in_.remaining() / least) {
      refuse("a count exceeds the bytes that follow");
      return 0;
    }
    return n;
  }

  std::string text() { return std::string(in_.raw(count(1))); }

  std::vector<uint32_t> list() {
    std::vector<uint32_t> out(count(4));
    for (uint32_t& item : out) item = in_.u32();
    return out;
  }

  template <typename T, typename Read>
  void table(std::vector<T>& out, size_t least, Read read) {
    uint32_t n = count(least);
    out.reserve(std::min<size_t>(n, 4096));
    for (uint32_t i = 0; i < n && !in_.failed(); ++i) out.push_back(read());
  }

  void read_tables() {
    plan_.entry = text();
    plan_.target = text();
    plan_.devices = in_.u32();
    plan_.events = in_.u32();
    table(plan_.dims, 9, [&] { return read_dim(); });
    table(plan_.exprs, 4, [&] { return read_expr(); });
    table(plan_.buffers, 35, [&] { return read_buffer(); });
    table(plan_.guards, 8, [&] { return read_guard(); });
    table(plan_.kernels, 4, [&] { return text(); });
    table(plan_.steps, 14, [&] { return read_step(); });
  }

  PlanDim read_dim() {
    PlanDim dim;
    dim.name = text();
    uint8_t source = in_.u8();
    if (source > uint8_t(DimSource::Loop)) refuse(cat("dimension source ", int(source)));
    dim.source = DimSource(source);
    dim.buffer = in_.u32();
    return dim;
  }

  Expr read_expr() {
    uint32_t length = count(1);
    if (length > max_expr_length) refuse("an expression is too long");
    if (in_.failed()) return {};
    Expr expr(length);
    for (ExprInstr& instr : expr) {
      uint8_t op = in_.u8();
      if (op >= expr_op_count) refuse(cat("operation ", int(op), " of an expression is unknown"));
      instr.op = ExprOp(op);
      if (instr.op == ExprOp::Const) instr.value = int64_t(in_.u64());
      if (instr.op == ExprOp::Dim) instr.value = int64_t(in_.u32());
      if (in_.failed()) return {};
    }
    return expr;
  }

  PlanBuffer read_buffer() {
    PlanBuffer buffer;
    uint8_t kind = in_.u8();
    uint8_t dtype = in_.u8();
    if (kind > uint8_t(BufferKind::Constant)) refuse(cat("buffer kind ", int(kind)));
    if (dtype >= dtype_count) refuse(cat("dtype ", int(dtype), " is unknown"));
    buffer.kind = BufferKind(kind);
    buffer.dtype = Dtype(dtype);
    buffer.name = text();
    buffer.shape = list();
    buffer.alignment = in_.u32();
    buffer.first_step = in_.u32();
    buffer.last_step = in_.u32();
    buffer.offset = in_.u64();
    buffer.device = in_.u32();
    uint8_t space = in_.u8();
    if (space > uint8_t(MemorySpace::Host)) refuse(cat("memory space ", int(space)));
    buffer.space = MemorySpace(space);
    return buffer;
  }

  PlanGuard read_guard() {
    PlanGuard guard;
    guard.condition = in_.u32();
    guard.message = text();
    return guard;
  }

  PlanStep read_step() {
    uint16_t opcode = in_.u16();
    uint32_t length = in_.u32();
    size_t begin = in_.position();
    PlanStep step;
    if (!read_fields<0>(opcode, step)) {
      refuse(cat("step ", plan_.steps.size(), ": ", unknown_opcode(opcode)));
    } else if (!in_.failed() && in_.position() - begin != length) {
      refuse(cat("step ", plan_.steps.size(), " says ", length, " bytes and has ", in_.position() - begin));
    }
    return step;
  }

  /// Reads the alternative of that opcode, looking from number I on; false where there is none.
  template <size_t I>
  bool read_fields(uint16_t opcode, PlanStep& step) {
    if constexpr (I < std::variant_size_v<PlanStep>) {
      if (step_infos[I].opcode != opcode) return read_fields<I + 1>(opcode, step);
      read(step.emplace<I>());
      return true;
    }
    return false;
  }

  template <typename... Fields>
  void read_numbers(Fields&... fields) {
    ((fields = in_.u32()), ...);
  }

  template <typename Enum>
  Enum read_enum(Enum last, std::string_view what) {
    uint8_t number = in_.u8();
    if (number > uint8_t(last)) refuse(cat(what, " ", int(number), " is unknown"));
    return Enum(number);
  }

  void read(LaunchStep& step) {
    step.kernel = in_.u32();
    step.buffers = list();
    step.dims = list();
    read_numbers(step.device, step.stream);
  }
  void read(SelectStep& step) { read_numbers(step.condition, step.then_steps, step.else_steps); }
  void read(IfStep& step) { read_numbers(step.buffer, step.then_steps, step.else_steps); }
  void read(ForStep& step) { read_numbers(step.dim, step.lo, step.hi, step.body_steps); }
  void read(CopyStep& step) { read_numbers(step.to, step.from); }
  void read(FillStep& step) {
    step.buffer = in_.u32();
    step.width = in_.u8();
    step.pattern = in_.u64();
  }
  void read(AliasStep& step) { read_numbers(step.view, step.of, step.offset); }
  void read(CheckStep& step) {
    step.buffer = in_.u32();
    step.message = text();
  }
  void read(WhileStep& step) { read_numbers(step.buffer, step.condition_steps, step.body_steps); }
  void read(SwapStep& step) { read_numbers(step.a, step.b); }
  void read(PrintStep& step) {
    step.grid = list();
    table(step.items, 28, [&] {
      PrintItem item;
      item.label = text();
      item.source = text();
      read_numbers(item.values, item.shown);
      item.extents = list();
      item.trip_counts = list();
      item.loop = in_.u32();
      return item;
    });
  }
  void read(RecordStep& step) { read_numbers(step.event, step.device, step.stream); }
  void read(WaitStep& step) { read_numbers(step.event, step.device, step.stream); }
  void read(PeerCopyStep& step) { read_numbers(step.to, step.from, step.stream); }
  void read(HostCallStep& step) {
    step.function = text();
    step.buffers = list();
    step.results = in_.u32();
  }
  void read(ExternalStep& step) {
    step.library = text();
    step.function = text();
    step.buffers = list();
    step.results = in_.u32();
    step.dims = list();
    read_numbers(step.device, step.stream);
  }
  void read(CollectiveStep& step) {
    step.kind = read_enum(CollectiveKind::Broadcast, "the collective");
    step.combine = read_enum(CollectiveCombine::Max, "the operation of a collective");
    step.axis = text();
    read_numbers(step.to, step.from, step.device, step.stream);
  }

  void read_data() {
    uint64_t size = in_.u64();
    std::string_view pad = in_.raw(in_.failed() ? 0 : padding(in_.position()));
    if (pad.find_first_not_of('\0') != pad.npos) refuse("its padding is not zero");
    plan_.data = std::string(in_.raw(size));
  }

  std::string_view bytes_;
  ByteReader in_;
  Plan plan_;
  std::string error_;
};

}  // namespace

std::string encode_plan(const Plan& plan) {
  std::string out(magic);
  put_u32(out, plan_version);
  put_u32(out, 0);
  size_t size_at = out.size();
  put_u64(out, 0);
  put_text(out, plan.entry);
  put_text(out, plan.target);
  put_u32(out, plan.devices);
  put_u32(out, plan.events);
  put_u32(out, uint32_t(plan.dims.size()));
  for (const PlanDim& dim : plan.dims) {
    put_text(out, dim.name);
    put_u8(out, uint8_t(dim.source));
    put_u32(out, dim.buffer);
  }
  put_u32(out, uint32_t(plan.exprs.size()));
  for (const Expr& expr : plan.exprs) put_expr(out, expr);
  put_u32(out, uint32_t(plan.buffers.size()));
  for (const PlanBuffer& buffer : plan.buffers) put_buffer(out, buffer);
  put_u32(out, uint32_t(plan.guards.size()));
  for (const PlanGuard& guard : plan.guards) {
    put_u32(out, guard.condition);
    put_text(out, guard.message);
  }
  put_u32(out, uint32_t(plan.kernels.size()));
  for (const std::string& kernel : plan.kernels) put_text(out, kernel);
  put_u32(out, uint32_t(plan.steps.size()));
  for (const PlanStep& step : plan.steps) put_step(out, step);
  put_u64(out, plan.data.size());
  out.append(padding(out.size()), '\0');
  out += plan.data;
  std::string size;
  put_u64(size, out.size());
  out.replace(size_at, size.size(), size);
  return out;
}

Result<Plan> decode_plan(std::string_view bytes) {
  Result<Plan> plan = PlanDecoder(bytes).decode();
  if (!plan) return error("plan: ", plan.error().text);
  if (Outcome checked = check_plan(*plan); !checked) return checked.error();
  return plan;
}

}  // namespace tessera::format
