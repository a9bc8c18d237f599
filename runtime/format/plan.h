#pragma once
// Plan v2: the host program of one (entry, target), as the runtime interprets it.
//
// A plan is data: dimensions, expressions over them, buffers, guards and a list of steps. The
// compiler fills the struct and encodes it; the runtime decodes it, which checks everything that
// does not depend on the call, so that interpretation needs no checks of indices or structure.
// docs/plan.md gives the bytes and the meaning of every field.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/result.h"
#include "runtime/format/expr.h"

namespace tessera::format {

inline constexpr uint32_t plan_version = 2;
inline constexpr uint32_t no_index = 0xffffffff;
/// Constants start at multiples of this in the data; so does every temp in the arena.
inline constexpr int64_t plan_alignment = 64;

/// Where a dimension's value comes from.
enum class DimSource : uint8_t {
  Shape,   ///< the first input or param extent that is this bare dimension
  Scalar,  ///< the value of a rank-0 integer input
  Loop,    ///< the counter of one For step; known inside its body only
};

struct PlanDim {
  std::string name;
  DimSource source = DimSource::Shape;
  uint32_t buffer = no_index;  ///< the input, for Scalar
  bool operator==(const PlanDim&) const = default;
};

enum class BufferKind : uint8_t { Input, Param, Output, Temp, Constant };

/// Whose memory a buffer is in.
enum class MemorySpace : uint8_t {
  Device,
  Host,  ///< of the host, which the buffer's device reads and writes, too
};

/// A dense row-major tensor. Inputs, params and outputs are numbered among their kind in the order
/// of this table, which is the order of the entry's signature.
struct PlanBuffer {
  BufferKind kind = BufferKind::Temp;
  Dtype dtype = Dtype::F32;
  std::string name;
  std::vector<uint32_t> shape;  ///< expressions, which read no loop dimension
  uint32_t alignment = 64;      ///< of the caller's pointer, a power of two up to 4096
  uint32_t first_step = 0;      ///< temps: the steps, both included, between which the content
  uint32_t last_step = 0;       ///< must survive; 0 for the other kinds
  uint64_t offset = 0;          ///< constants: where in Plan::data; 0 for the other kinds
  uint32_t device = 0;          ///< one of Plan::devices
  MemorySpace space = MemorySpace::Device;
  bool operator==(const PlanBuffer&) const = default;
};

/// A condition on the dims, checked once at entry. `message` is said when it does not hold.
struct PlanGuard {
  uint32_t condition = no_index;
  std::string message;
  bool operator==(const PlanGuard&) const = default;
};

/// Runs a kernel over its whole grid. `buffers` in the kernel's signature order, results last;
/// `dims` are expressions for the kernel's free dims in the order of its metadata. An empty grid
/// does nothing.
struct LaunchStep {
  uint32_t kernel = no_index;  ///< in Plan::kernels
  std::vector<uint32_t> buffers;
  std::vector<uint32_t> dims;
  uint32_t device = 0;  ///< that of its buffers
  uint32_t stream = 0;  ///< a hint: steps of different streams may overlap where they share nothing
  bool operator==(const LaunchStep&) const = default;
};

/// Runs the next `then_steps` steps when the condition on the dims holds, else the `else_steps`
/// after those.
struct SelectStep {
  uint32_t condition = no_index;
  uint32_t then_steps = 0;
  uint32_t else_steps = 0;
  bool operator==(const SelectStep&) const = default;
};

/// As Select, on the content of a rank-0 bool buffer.
struct IfStep {
  uint32_t buffer = no_index;
  uint32_t then_steps = 0;
  uint32_t else_steps = 0;
  bool operator==(const IfStep&) const = default;
};

/// Runs the next `body_steps` steps for every value of `dim` in [lo, hi).
struct ForStep {
  uint32_t dim = no_index;  ///< a Loop dimension that no other For uses
  uint32_t lo = no_index;
  uint32_t hi = no_index;
  uint32_t body_steps = 0;
  bool operator==(const ForStep&) const = default;
};

/// Copies a whole buffer to one of equal size in bytes.
struct CopyStep {
  uint32_t to = no_index;
  uint32_t from = no_index;
  bool operator==(const CopyStep&) const = default;
};

/// Fills a whole buffer with a repeated pattern of 1, 2, 4 or 8 bytes (the low bytes of
/// `pattern`, first byte lowest).
struct FillStep {
  uint32_t buffer = no_index;
  uint8_t width = 1;
  uint64_t pattern = 0;
  bool operator==(const FillStep&) const = default;
};

/// Makes `view` (a temp or an output) name bytes of `of`, from `offset` on. A temp that is a view
/// anywhere gets no memory of its own. An output that is a view is memory that the caller donated:
/// `of` is then an input, and the offset is the number 0.
struct AliasStep {
  uint32_t view = no_index;
  uint32_t of = no_index;
  uint32_t offset = no_index;  ///< an expression, in bytes
  bool operator==(const AliasStep&) const = default;
};

/// Ends the call with the message unless a rank-0 bool buffer holds true.
struct CheckStep {
  uint32_t buffer = no_index;
  std::string message;
  bool operator==(const CheckStep&) const = default;
};

/// Runs the next `condition_steps` steps and then, if a rank-0 bool buffer holds true, the
/// `body_steps` after those, and begins again.
struct WhileStep {
  uint32_t buffer = no_index;
  uint32_t condition_steps = 0;
  uint32_t body_steps = 0;
  bool operator==(const WhileStep&) const = default;
};

/// Exchanges the contents of two temps of one dtype, shape and live interval, which no view is of, by exchanging
/// their memory.
struct SwapStep {
  uint32_t a = no_index;
  uint32_t b = no_index;
  bool operator==(const SwapStep&) const = default;
};

/// What one `print` of a kernel leaves: `values` [programs, iterations, …] of a dtype that is
/// printed, and `shown`, a bool of that shape, which elements it left. One buffer for both: a label
/// alone. The tile has `extents`, of which the buffers may hold the beginning.
struct PrintItem {
  std::string label;
  std::string source;             ///< where it is written; may be empty
  uint32_t values = no_index;
  uint32_t shown = no_index;
  std::vector<uint32_t> extents;  ///< expressions, as many as the buffers have dims behind the second
  std::vector<uint32_t> trip_counts;    ///< expressions: of the loops around it, the outermost first
  uint32_t loop = 0;  ///< the number of the first item in the same outermost loop; its own outside of loops
  bool operator==(const PrintItem&) const = default;
};

/// Prints what the programs of a launch left, in their order.
struct PrintStep {
  std::vector<uint32_t> grid;  ///< expressions: programs along each axis
  std::vector<PrintItem> items;
  bool operator==(const PrintStep&) const = default;
};

/// The event happens once what was put in the stream before is done. Each event is recorded by one step.
struct RecordStep {
  uint32_t event = no_index;  ///< one of Plan::events
  uint32_t device = 0;
  uint32_t stream = 0;
  bool operator==(const RecordStep&) const = default;
};

/// What is put in the stream from here on begins after the event, which an earlier step records.
struct WaitStep {
  uint32_t event = no_index;
  uint32_t device = 0;
  uint32_t stream = 0;
  bool operator==(const WaitStep&) const = default;
};

/// Copies a whole buffer to one of equal size in bytes on another device, in a stream of that device.
struct PeerCopyStep {
  uint32_t to = no_index;
  uint32_t from = no_index;
  uint32_t stream = 0;
  bool operator==(const PeerCopyStep&) const = default;
};

/// Calls a function that the program around has given that name. It reads the buffers, and writes the last `results`
/// of them.
struct HostCallStep {
  std::string function;
  std::vector<uint32_t> buffers;
  uint32_t results = 0;
  bool operator==(const HostCallStep&) const = default;
};

/// The same of a function of a library outside of the bundle, which puts its work in a stream and gets sizes, too.
struct ExternalStep {
  std::string library;
  std::string function;
  std::vector<uint32_t> buffers;
  uint32_t results = 0;
  std::vector<uint32_t> dims;  ///< expressions
  uint32_t device = 0;
  uint32_t stream = 0;
  bool operator==(const ExternalStep&) const = default;
};

enum class CollectiveKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast };
/// How a collective combines elements; None for those that only move them.
enum class CollectiveCombine : uint8_t { None, Sum, Product, Min, Max };

/// What all devices along an axis of the mesh do together: each gives `from` and gets `to`.
struct CollectiveStep {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveCombine combine = CollectiveCombine::None;
  std::string axis;
  uint32_t to = no_index;
  uint32_t from = no_index;
  uint32_t device = 0;
  uint32_t stream = 0;
  bool operator==(const CollectiveStep&) const = default;
};

template <typename None, typename... Steps>
struct StepVariant {
  using type = std::variant<Steps...>;
};
/// The steps of plan_steps.def.
using PlanStep = StepVariant<void
#define PLAN_STEP(type, opcode, name, runs) , type
#include "runtime/format/plan_steps.def"
                             >::type;

struct Plan {
  std::string entry;   ///< the entry's name
  std::string target;  ///< such as "cpu:x86-64-v4"
  uint32_t devices = 1;  ///< how many it runs on
  uint32_t events = 0;   ///< how many its steps record
  std::vector<PlanDim> dims;
  std::vector<Expr> exprs;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanGuard> guards;
  std::vector<std::string> kernels;  ///< names in the target's reflection
  std::vector<PlanStep> steps;
  std::string data;  ///< contents of the constants
  bool operator==(const Plan&) const = default;
};

/// Appends an expression unless it is there already; returns its index.
uint32_t intern_expr(Plan& plan, const Expr& expr);

/// Everything that decode_plan checks beyond the byte form. A compiler checks what it built.
Outcome check_plan(const Plan& plan);

/// The bytes of a plan that check_plan accepts.
std::string encode_plan(const Plan& plan);

/// Reads and checks untrusted bytes. encode_plan(*decode_plan(x)) == x for every accepted x.
Result<Plan> decode_plan(std::string_view bytes);

/// Takes the lines of a text.
using TextSink = std::function<void(std::string_view)>;

/// The plan as text for `tsr inspect --ir plan`, line after line: plans of strangers may say much in few bytes.
void print_plan(const Plan& plan, const TextSink& put);

}  // namespace tessera::format
