#!/usr/bin/env bash
# Measures matmuls on this CPU beside oneDNN and OpenBLAS and prints a table.
# Usage: bench/cpu.sh [--json FILE] [--only PREFIX] [--sizes N,…] [--threads N,…] [--rounds N] [--target T,…]
# Peers are Debian's libdnnl-dev and libopenblas-dev, which only this needs.
set -euo pipefail

if [ "${1:-}" = "--help" ] || [ "${1:-}" = "-h" ]; then
  sed -n '2,4s/^# //p' "$0"
  exit 0
fi
here=$(cd "$(dirname "$0")/.." && pwd)
arguments=()
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --target) IFS=, read -ra names <<<"$2"; for name in "${names[@]}"; do targets+=("--target=$name"); done; shift 2 ;;
    --json) arguments+=(--json "$(realpath -m "$2")"); shift 2 ;;
    *) arguments+=("$1"); shift ;;
  esac
done
cd "$here"
cmake --preset release -D TESSERA_BENCH=ON >/dev/null
cmake --build build --target tesserac gemm_peers >/dev/null
[ ${#targets[@]} -gt 0 ] || targets=(--target=host)
build/bin/tesserac bench/gemm.tsr "${targets[@]}" -o build/gemm.bundle
# OpenBLAS's threads would spin for tens of milliseconds, on the processors of the next to be measured.
export OPENBLAS_THREAD_TIMEOUT=16
exec build/bin/gemm_peers build/gemm.bundle "${arguments[@]}"
