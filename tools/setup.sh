#!/usr/bin/env bash
# Installs every Debian package that building, testing and benchmarking Tessera needs.
# Usage: tools/setup.sh        (uses sudo when not root; does nothing when all are present)
set -euo pipefail

build_packages=(
  g++ cmake ninja-build ccache git
  llvm-19-dev llvm-19-tools liblld-19-dev lld-19 clang-19 libclang-rt-19-dev
  antlr4 libantlr4-runtime-dev default-jre-headless
  libcli11-dev libfmt-dev catch2 nlohmann-json3-dev libtbb-dev libxxhash-dev libzstd-dev
  zlib1g-dev
)
test_packages=(python3 python3-numpy libmpfr-dev unzip)
bench_packages=(libdnnl-dev libopenblas-dev)

packages=("${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}")
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "tools/setup.sh: run as root or install sudo; missing: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "tools/setup.sh: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  "${missing[@]}" >/dev/null
