#!/usr/bin/env bash
# Collects what another x86-64 Linux machine needs to measure matmuls on its CPU beside oneDNN and OpenBLAS.
# Usage: bench/pack_cpu.sh DIR [--target T,…] [--source FILE.tsr]…
# There, DIR/run.sh [--json FILE] and the options of bench/cpu.sh check all results and measure, pinned to one
# thread a core. Each target becomes a bundle of its own; those that the machine cannot run are left out there.
set -euo pipefail

if [ $# -eq 0 ] || [ "$1" = "--help" ] || [ "$1" = "-h" ]; then
  sed -n '2,5s/^# //p' "$0"
  exit 0
fi
case $1 in -*) echo "$(basename "$0"): the first argument is a folder, not '$1'" >&2; exit 1 ;; esac
folder=$(realpath -m "$1")
shift
targets=cpu:x86-64-v4,cpu:x86-64-v4-bf16,cpu:x86-64-v4-amx
sources=()
while [ $# -gt 0 ]; do
  case $1 in
    --target) targets=$2; shift 2 ;;
    --source) sources+=("$(realpath "$2")"); shift 2 ;;
    *) echo "pack_cpu.sh: unknown option $1" >&2; exit 1 ;;
  esac
done
cd "$(dirname "$0")/.."
[ ${#sources[@]} -gt 0 ] || sources=(bench/gemm.tsr)
cmake --preset release -D TESSERA_BENCH=ON >/dev/null
cmake --build build --target tesserac gemm_peers >/dev/null
rm -rf "$folder/bundles" "$folder/lib"
mkdir -p "$folder/bundles" "$folder/lib"
IFS=, read -ra names <<<"$targets"
for source in "${sources[@]}"; do
  for name in "${names[@]}"; do
    bundle=$(basename "$source" .tsr)-${name##*x86-64-}
    build/bin/tesserac "$source" "--target=$name" -o "$folder/bundles/$bundle.bundle"
  done
done

# All shared libraries but those of glibc and what the loader itself is.
cp build/bin/gemm_peers "$folder/lib/"
ldd build/bin/gemm_peers | awk '$2 == "=>" {print $1, $3}' |
  grep -vE '^(libc|libm|libdl|libpthread|librt)\.so' |
  while read -r name path; do cp -L "$path" "$folder/lib/$name"; done
tar -C "$folder/lib" -czf "$folder/lib.tar.gz" .
rm -r "$folder/lib"
cat >"$folder/run.sh" <<'SCRIPT'
#!/usr/bin/env bash
# Checks matmuls against sums in double, then measures them beside oneDNN and OpenBLAS; --help lists the options.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lib=$(mktemp -d)
trap 'rm -rf "$lib"' EXIT
tar -C "$lib" -xzf "$here/lib.tar.gz"
# One processor of each core: threads that share a core's units would measure each other.
cpus=$(cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list 2>/dev/null | sed 's/[,-].*//' |
  sort -nu | head -2 | paste -sd,)
pin=()
if [ -n "$cpus" ] && taskset -c "$cpus" true 2>/dev/null; then pin=(taskset -c "$cpus"); fi
grep -m1 'model name' /proc/cpuinfo || true
# OpenBLAS's threads would spin for tens of milliseconds, on the processors of the next to be measured.
export OPENBLAS_THREAD_TIMEOUT=16 ONEDNN_MAX_CPU_ISA=ALL
LD_LIBRARY_PATH=$lib "${pin[@]}" "$lib/gemm_peers" "$here"/bundles/*.bundle "$@"
SCRIPT
chmod +x "$folder/run.sh"
du -sh "$folder" | sed 's/\s.*/ in /' | tr -d '\n'
echo "$folder"
