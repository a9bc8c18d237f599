#include <algorithm>
#include <array>

#include "runtime/cuda/cuda_code.h"
#include "runtime/format/cuda_image.h"

namespace tessera::runtime::cuda {

namespace {

constexpr int64_t max_grid = INT32_MAX;
constexpr int64_t default_shared_bytes = 48 << 10;
constexpr int64_t portable_cluster = 8;
/// Shared memory that the driver takes for each block.
constexpr int64_t reserved_shared_bytes = 1 << 10;
/// Shared memory of a block of a kernel that does not live on the cache beside it.
constexpr int64_t much_shared_bytes = 16 << 10;

int64_t product(const std::vector<int64_t>& extents) {
  int64_t out = 1;
  for (int64_t extent : extents) out *= extent;
  return out;
}

}  // namespace

/// Of one launch.
struct CudaKernel::Attributes {
  std::array<LaunchAttribute, 2> all{};
  unsigned count = 0;

  LaunchAttribute& add(unsigned id) {
    all[count].id = id;
    return all[count++];
  }
};

Status CudaKernel::failed(Status status) const {
  return fail(status.code, "kernel ", format::in_quotes(meta_.name), ": ", status.text);
}

Status CudaKernel::prepare(ModuleHandle module) {
  cluster_ = product(meta_.cluster);
  std::string symbol = format::cuda_symbol(meta_.code_name());
  Status status = gpu_.run(gpu_.driver().module_function, &function_, module, symbol.c_str());
  if (!status.failed()) status = check_limits();
  if (!status.failed()) status = allow_resources();
  if (!status.failed() && meta_.persistent) status = count_resident_blocks();
  return status.failed() ? failed(std::move(status)) : status;
}

Status CudaKernel::check_limits() {
  const Driver& driver = gpu_.driver();
  bool has_scratch = meta_.scratch != format::const_expr(0);
  if (has_scratch) return fail(TSR_EIMAGE, "scratch memory is for kernels of a CPU");
  int threads = 0;
  int shared = 0;
  Status status =
      gpu_.run(driver.function_attribute, &threads, function_max_threads_per_block, function_);
  if (status.failed()) return status;
  status = gpu_.run(driver.function_attribute, &shared, function_static_shared_bytes, function_);
  if (status.failed()) return status;
  int64_t block = product(meta_.block);
  if (block > std::min(threads, gpu_.max_threads())) {
    return fail(TSR_EUNSUPPORTED, "its blocks have ", block, " threads; ", gpu_.name(),
                " runs at most ", std::min(threads, gpu_.max_threads()), " of it");
  }
  if (shared + meta_.smem_per_cta > gpu_.max_shared_bytes()) {
    return fail(TSR_EUNSUPPORTED, "it needs ", shared + meta_.smem_per_cta,
                " bytes of shared memory; ", gpu_.name(), " has ", gpu_.max_shared_bytes());
  }
  if (cluster_ > 1 && !driver.launch_with.function) {
    return driver.missing(driver.launch_with.symbol, driver.launch_with.since);
  }
  if (!meta_.descriptors.empty() && !driver.encode_tiled.function) {
    return driver.missing(driver.encode_tiled.symbol, driver.encode_tiled.since);
  }
  auto of_windows = [](const format::KernelDescriptor& descriptor) { return !descriptor.steps.empty(); };
  if (std::ranges::any_of(meta_.descriptors, of_windows) && !driver.encode_windows.function) {
    return driver.missing(driver.encode_windows.symbol, driver.encode_windows.since);
  }
  return ok();
}

/// More than 48 KiB of shared memory and more than 8 blocks in a cluster have to be asked for.
Status CudaKernel::allow_resources() {
  const Driver& driver = gpu_.driver();
  Status status;
  int64_t most = spreads() ? gpu_.max_shared_bytes() : meta_.smem_per_cta;
  if (most > default_shared_bytes) {
    status = gpu_.run(driver.set_function_attribute, function_, function_max_dynamic_shared_bytes, int(most));
  }
  if (!status.failed() && cluster_ > portable_cluster) {
    status = gpu_.run(driver.set_function_attribute, function_, function_non_portable_cluster, 1);
  }
  return status;
}

Status CudaKernel::count_resident_blocks() {
  const Driver& driver = gpu_.driver();
  int count = 0;
  Status status;
  if (cluster_ == 1) {
    status = gpu_.run(driver.blocks_per_processor, &count, function_, int(product(meta_.block)),
                      size_t(meta_.smem_per_cta));
    resident_blocks_ = int64_t(count) * gpu_.multiprocessors();
  } else {
    Attributes attributes;
    LaunchConfig config = config_for(unsigned(cluster_), nullptr, true, attributes);
    status = gpu_.run(driver.clusters_at_a_time, &count, function_,
                      static_cast<const LaunchConfig*>(&config));
    resident_blocks_ = int64_t(count) * cluster_;
  }
  if (status.failed() || count > 0) return status;
  return fail(TSR_EUNSUPPORTED, "not one of its ", cluster_ == 1 ? "blocks" : "clusters",
              " fits on ", gpu_.name());
}

Status CudaKernel::grid_blocks(int64_t programs, unsigned& blocks) const {
  int64_t count = programs;
  if (meta_.persistent) {
    count = std::min(resident_blocks_, (programs - 1) / cluster_ * cluster_ + cluster_);
  } else if (programs % cluster_ != 0) {
    return fail(TSR_EINTERNAL, "its ", programs, " programs are not whole clusters of ", cluster_);
  }
  // Kernels number programs in 32 bits, persistent ones too.
  if (programs > max_grid) {
    return invalid("its ", programs, " programs are more than a grid can have, ", max_grid);
  }
  blocks = unsigned(count);
  return ok();
}

bool CudaKernel::spreads() const {
  return meta_.waits && gpu_.overlaps_launches() && !meta_.persistent && cluster_ == 1 &&
         meta_.smem_per_cta >= much_shared_bytes;
}

/// Blocks that begin while those of the launch ahead end would crowd on the multiprocessors that are free first. More
/// shared memory than they use keeps them to an even share.
unsigned CudaKernel::shared_bytes(unsigned blocks, bool starts_early) const {
  constexpr int64_t unit = 128;
  if (!starts_early || !spreads()) return unsigned(meta_.smem_per_cta);
  int64_t processors = gpu_.multiprocessors(), each = std::max<int64_t>((blocks + processors - 1) / processors, 1);
  int64_t room = (gpu_.max_shared_bytes() + reserved_shared_bytes) / each - reserved_shared_bytes;
  return unsigned(std::max(meta_.smem_per_cta, room / unit * unit));
}

LaunchConfig CudaKernel::config_for(unsigned blocks, StreamHandle stream, bool starts_early,
                                    Attributes& attributes) const {
  if (cluster_ > 1) attributes.add(LaunchAttribute::cluster_dimension).value.cluster = {unsigned(cluster_), 1, 1};
  if (starts_early && meta_.waits && gpu_.overlaps_launches()) {
    attributes.add(LaunchAttribute::programmatic_serialization).value.holds = 1;
  }
  return {blocks,
          1,
          1,
          unsigned(meta_.block[0]),
          unsigned(meta_.block[1]),
          unsigned(meta_.block[2]),
          shared_bytes(blocks, starts_early),
          stream,
          attributes.all.data(),
          attributes.count};
}

Status CudaKernel::launch(const Launch& launch, StreamHandle stream, bool starts_early) {
  unsigned blocks = 0;
  std::vector<TensorMap> maps;
  Status status = grid_blocks(launch.programs, blocks);
  if (status.failed()) return failed(std::move(status));
  if (status = maps_.find(launch, maps); status.failed()) return status;

  std::vector<uint32_t> dims;
  for (size_t i = 0; i < meta_.dims.size(); ++i) {
    if (launch.dims[i] < 0 || launch.dims[i] > UINT32_MAX) {
      return failed(
          invalid("the dim ", meta_.dims[i], " = ", launch.dims[i], " does not fit 32 bits"));
    }
    dims.push_back(uint32_t(launch.dims[i]));
  }
  std::vector<void*> params;
  size_t buffers = meta_.buffers.size() + !meta_.checks.empty();  // a checked kernel's log is one more
  for (size_t i = 0; i < buffers; ++i) {
    params.push_back(const_cast<void**>(&launch.buffers[i]));
  }
  for (uint32_t& dim : dims) params.push_back(&dim);
  for (TensorMap& map : maps) params.push_back(&map);

  Attributes attributes;
  LaunchConfig config = config_for(blocks, stream, starts_early, attributes);
  void** no_extra = nullptr;
  if (attributes.count > 0) {
    status = gpu_.run(gpu_.driver().launch_with, static_cast<const LaunchConfig*>(&config),
                      function_, params.data(), no_extra);
  } else {
    status = gpu_.run(gpu_.driver().launch, function_, config.grid_x, 1u, 1u, config.block_x,
                      config.block_y, config.block_z, config.shared_bytes, stream, params.data(),
                      no_extra);
  }
  return status.failed() ? failed(std::move(status)) : status;
}

}  // namespace tessera::runtime::cuda
