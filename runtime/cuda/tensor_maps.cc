#include "runtime/cuda/tensor_maps.h"

#include <algorithm>
#include <span>

namespace tessera::runtime::cuda {

namespace {

using format::Dtype;
using format::EvalStatus;
using format::Expr;
using format::KernelDescriptor;
using format::KernelMeta;

/// Launches whose maps are kept, per kernel.
constexpr size_t max_kept = 64;

// Limits of the hardware's form.
constexpr int64_t granule = 16;  // bytes, of addresses and strides
constexpr int64_t max_extent = int64_t(1) << 32;
constexpr int64_t max_stride = int64_t(1) << 40;

/// Copies move bits; only the width matters, and zeros fill alike in every type.
int map_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
      return map_f64;
    case Dtype::F32:
    case Dtype::Tf32:
      return map_f32;
    case Dtype::Bf16:
      return map_bf16;
    case Dtype::F16:
      return map_f16;
    case Dtype::I64:
      return map_i64;
    case Dtype::U64:
      return map_u64;
    case Dtype::I32:
      return map_i32;
    case Dtype::U32:
      return map_u32;
    case Dtype::I16:
    case Dtype::U16:
      return map_u16;
    default:
      return map_u8;
  }
}

int swizzle_code(int64_t bytes) {
  return bytes == 0 ? map_no_swizzle : bytes == 32 ? 1 : bytes == 64 ? 2 : 3;
}

/// The numbers of a descriptor for given dims.
class Geometry {
 public:
  Geometry(const KernelMeta& meta, const KernelDescriptor& descriptor,
           std::span<const int64_t> dims)
      : meta_(meta), descriptor_(descriptor), dims_(dims) {}

  Status evaluate(const void* pointer) {
    for (const Expr& expr : descriptor_.dims) {
      int64_t extent = 0;
      if (Status status = value(expr, extent); status.failed()) return status;
      if (extent < 0 || extent > max_extent)
        return refuse("the extent ", expr, extent, " is out of range");
      is_empty |= extent == 0;
      extents.push_back(uint64_t(extent));
    }
    for (const Expr& expr : descriptor_.strides) {
      int64_t stride = 0;
      if (Status status = value(expr, stride); status.failed()) return status;
      if (stride < 0 || stride >= max_stride || stride % granule != 0) {
        return refuse("the stride ", expr, stride, " bytes is not a multiple of 16");
      }
      strides.push_back(uint64_t(stride));
    }
    int64_t offset = 0;
    if (Status status = value(descriptor_.offset, offset); status.failed()) return status;
    address = reinterpret_cast<Address>(pointer) + uint64_t(offset);
    if (is_empty) return ok();
    if (address % granule != 0) return invalid(title(), "its address is not a multiple of 16");
    return check_reach(offset);
  }

  std::vector<uint64_t> extents;
  std::vector<uint64_t> strides;
  Address address = 0;
  bool is_empty = false;

 private:
  /// Nothing outside the buffer is reached, whatever the metadata says.
  Status check_reach(int64_t offset) const {
    const format::KernelBuffer& buffer = meta_.buffers[descriptor_.buffer];
    std::vector<int64_t> shape;
    for (const Expr& expr : buffer.shape) {
      if (Status status = value(expr, shape.emplace_back()); status.failed()) return status;
    }
    auto count = format::element_count(shape);
    auto bytes = count ? format::bytes_of(buffer.dtype, *count) : std::nullopt;
    // Extents are at most 2^32 and strides below 2^40: nothing overflows 128 bits.
    __int128 last = __int128(extents[0] - 1) * format::dtype_bits(descriptor_.dtype) / 8;
    for (size_t i = 0; i < strides.size(); ++i) last += __int128(extents[i + 1] - 1) * strides[i];
    last += offset + format::dtype_bits(descriptor_.dtype) / 8;
    if (bytes && offset >= 0 && last <= *bytes) return ok();
    return fail(TSR_EIMAGE, title(), "it reaches beyond the buffer for these dims");
  }

  std::string title() const {
    return format::cat("kernel ", format::in_quotes(meta_.name), ": the tensor map of ",
                       format::in_quotes(meta_.buffers[descriptor_.buffer].name), ": ");
  }

  Status value(const Expr& expr, int64_t& out) const {
    EvalStatus status = format::evaluate(expr, dims_, out);
    if (status == EvalStatus::Ok) return ok();
    return invalid(title(), format::expr_text(expr, meta_.dims), ": ",
                   format::eval_status_text(status));
  }

  Status refuse(const char* what, const Expr& expr, int64_t number, const char* why) const {
    return invalid(title(), what, format::expr_text(expr, meta_.dims), " = ", number, why);
  }

  const KernelMeta& meta_;
  const KernelDescriptor& descriptor_;
  std::span<const int64_t> dims_;
};

}  // namespace

std::vector<int64_t> TensorMaps::key_of(const Launch& launch) const {
  std::vector<int64_t> key(launch.dims, launch.dims + meta_.dims.size());
  for (const KernelDescriptor& descriptor : meta_.descriptors) {
    key.push_back(int64_t(reinterpret_cast<Address>(launch.buffers[descriptor.buffer])));
  }
  return key;
}

Status TensorMaps::find(const Launch& launch, std::vector<TensorMap>& maps) {
  maps.clear();
  if (meta_.descriptors.empty()) return ok();
  std::vector<int64_t> key = key_of(launch);
  std::lock_guard lock(mutex_);
  if (auto found = kept_.find(key); found != kept_.end()) {
    maps = found->second;
    return ok();
  }
  for (const KernelDescriptor& descriptor : meta_.descriptors) {
    Status status = encode(descriptor, launch, maps.emplace_back());
    if (status.failed()) return status;
  }
  if (kept_.size() >= max_kept) kept_.clear();
  kept_.emplace(std::move(key), maps);
  return ok();
}

Status TensorMaps::encode(const KernelDescriptor& descriptor, const Launch& launch,
                          TensorMap& map) {
  map = {};
  Geometry geometry(meta_, descriptor, {launch.dims, meta_.dims.size()});
  Status status = geometry.evaluate(launch.buffers[descriptor.buffer]);
  // An empty tensor has no map: a kernel that is launched all the same has nothing to copy there.
  if (status.failed() || geometry.is_empty) return status;
  uint32_t rank = uint32_t(descriptor.dims.size());
  std::vector<uint32_t> box(descriptor.box.begin(), descriptor.box.end()), steps(rank, 1);
  std::ranges::copy(descriptor.steps, steps.begin() + (descriptor.steps.empty() ? 0 : 1));
  void* start = reinterpret_cast<void*>(geometry.address);
  int type = map_type(descriptor.dtype), swizzle = swizzle_code(descriptor.swizzle);
  if (descriptor.steps.empty()) {
    status = gpu_.run(gpu_.driver().encode_tiled, &map, type, rank, start, geometry.extents.data(),
                      geometry.strides.data(), box.data(), steps.data(), map_no_interleave, swizzle,
                      map_promote_128_bytes, map_fill_zeros);
  } else {
    std::vector<int> lower(descriptor.lower.begin(), descriptor.lower.end());
    std::vector<int> upper(descriptor.upper.begin(), descriptor.upper.end());
    status = gpu_.run(gpu_.driver().encode_windows, &map, type, rank, start, geometry.extents.data(),
                      geometry.strides.data(), lower.data(), upper.data(), box[0], box[1], steps.data(),
                      map_no_interleave, swizzle, map_promote_128_bytes, map_fill_zeros);
  }
  if (!status.failed()) return status;
  return fail(status.code, "kernel ", format::in_quotes(meta_.name), ": the tensor map of ",
              format::in_quotes(meta_.buffers[descriptor.buffer].name), ": ", status.text);
}

}  // namespace tessera::runtime::cuda
