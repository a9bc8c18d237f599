#!/usr/bin/env bash
# Collects what a machine with an NVIDIA driver, Python and PyTorch needs to check and measure bundles on its GPU.
# Usage: bench/pack_gpu.sh DIR [--target T,…] [--cubin]
# There, DIR/run.sh --json FILE checks all results against PyTorch and measures beside it, DIR/families/run.py --json
# FILE measures many sizes of whole families, and DIR/tsr is the tsr command.
# Without --cubin (which needs ptxas here) the driver of that machine compiles the bundles' PTX.
set -euo pipefail

if [ $# -eq 0 ] || [ "$1" = "--help" ] || [ "$1" = "-h" ]; then
  sed -n '2,6s/^# //p' "$0"
  exit 0
fi
case $1 in -*) echo "$(basename "$0"): the first argument is a folder, not '$1'" >&2; exit 1 ;; esac
folder=$(realpath -m "$1")
shift
targets=cuda:sm_90a
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --target) targets=$2; shift 2 ;;
    --cubin) options+=(--cubin); shift ;;
    *) echo "pack_gpu.sh: unknown option $1" >&2; exit 1 ;;
  esac
done
IFS=, read -ra names <<<"$targets"
for name in "${names[@]}"; do options+=("--target=$name"); done

cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
cmake --build build --target tesserac tsr tessera >/dev/null
mkdir -p "$folder/lib" "$folder/bundles"
for program in gemm rows sums attention gated; do
  build/bin/tesserac "bench/gpu/$program.tsr" "${options[@]}" -o "$folder/bundles/$program.bundle"
done
build/bin/tesserac bench/gpu/families/families.tsr "${options[@]}" -o "$folder/bundles/families.bundle"

# The libraries that are not part of every system go beside ours.
cp -L build/lib/libtessera.so.2 "$folder/lib/"
cp build/bin/tsr "$folder/lib/tsr"
ldd build/bin/tsr | sed -nE 's/.*=> (\S*lib(tbb|fmt)\.so\S*) .*/\1/p' | xargs -I{} cp -L {} "$folder/lib/"
cp bench/gpu/{tessera_ctypes,cases,attention_cases,run}.py "$folder/"
mkdir -p "$folder/families"
cp bench/gpu/families/*.py "$folder/families/"
cat >"$folder/run.sh" <<'SCRIPT'
#!/usr/bin/env bash
# Checks the bundles on cuda:0 against PyTorch, then measures them beside it; --help lists the options.
exec "${PYTHON:-python3}" "$(dirname "$0")/run.py" "$@"
SCRIPT
cat >"$folder/tsr" <<'SCRIPT'
#!/usr/bin/env bash
lib=$(cd "$(dirname "$0")" && pwd)/lib
LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$lib/tsr" "$@"
SCRIPT
chmod +x "$folder/run.sh" "$folder/tsr"
du -sh "$folder" | sed 's/\s.*/ in /' | tr -d '\n'
echo "$folder"
