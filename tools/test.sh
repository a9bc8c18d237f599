#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test; ends with ctest's closing lines.
# Usage: tools/test.sh [--sanitize] [ctest options, such as -R name]
#   --sanitize   with AddressSanitizer and UBSan, in build-debug/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
if [ "${1:-}" = "--sanitize" ]; then
  # lld's threads end without taking down the signal stacks that AddressSanitizer gives them, so
  # this preset sets use_sigaltstack=0.
  preset=debug
  shift
fi
tools/build.sh --preset "$preset"
ctest --preset "$preset" -j "$(nproc)" "$@"
