// The byte form of plans (docs/plan.md). Encoder and decoder mirror each other record by record;
// every byte carries meaning or is checked to be zero, so that a plan has one encoding.

#include <algorithm>

#include "runtime/files/bytes.h"
#include "runtime/files/text.h"
#include "runtime/format/plan.h"

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
};

class PlanDecoder {
 public:
  explicit PlanDecoder(std::string_view bytes) : bytes_(bytes), in_(bytes) {}

  Result<Plan> decode() {
    if (!bytes_.starts_with(magic)) return error("it does not start as a plan does");
    in_.raw(magic.size());
    if (uint32_t version = in_.u32(); version != plan_version) {
      return error("it has version ", version, "; this build reads ", plan_version);
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
    table(plan_.dims, 9, [&] { return read_dim(); });
    table(plan_.exprs, 4, [&] { return read_expr(); });
    table(plan_.buffers, 30, [&] { return read_buffer(); });
    table(plan_.guards, 8, [&] { return read_guard(); });
    table(plan_.kernels, 4, [&] { return text(); });
    table(plan_.steps, 9, [&] { return read_step(); });
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
    return buffer;
  }

  PlanGuard read_guard() {
    PlanGuard guard;
    guard.condition = in_.u32();
    guard.message = text();
    return guard;
  }

  PlanStep read_step() {
    uint8_t kind = in_.u8();
    switch (kind) {
      case 0:
        return read_launch();
      case 1:
        return SelectStep{in_.u32(), in_.u32(), in_.u32()};
      case 2:
        return IfStep{in_.u32(), in_.u32(), in_.u32()};
      case 3:
        return ForStep{in_.u32(), in_.u32(), in_.u32(), in_.u32()};
      case 4:
        return CopyStep{in_.u32(), in_.u32()};
      case 5:
        return FillStep{in_.u32(), in_.u8(), in_.u64()};
      case 6:
        return AliasStep{in_.u32(), in_.u32(), in_.u32()};
      case 7:
        return read_check();
      case 8:
        return WhileStep{in_.u32(), in_.u32(), in_.u32()};
      case 9:
        return SwapStep{in_.u32(), in_.u32()};
      case 10:
        return read_print();
      default:
        refuse(cat("step kind ", int(kind), " is unknown"));
        break;
    }
    return CopyStep{};
  }

  CheckStep read_check() {
    CheckStep step;
    step.buffer = in_.u32();
    step.message = text();
    return step;
  }

  PrintStep read_print() {
    PrintStep step;
    step.grid = list();
    table(step.items, 28, [&] {
      PrintItem item;
      item.label = text();
      item.source = text();
      item.values = in_.u32();
      item.shown = in_.u32();
      item.extents = list();
      item.trip_counts = list();
      item.loop = in_.u32();
      return item;
    });
    return step;
  }

  LaunchStep read_launch() {
    LaunchStep step;
    step.kernel = in_.u32();
    step.buffers = list();
    step.dims = list();
    step.device = in_.u32();
    step.stream = in_.u32();
    return step;
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
  for (const PlanStep& step : plan.steps) {
    put_u8(out, uint8_t(step.index()));
    std::visit(StepEncoder{out}, step);
  }
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
