#!/usr/bin/env bash
# Configures and builds Tessera into build/ (programs in build/bin/).
# Usage: tools/build.sh [--preset release|programs|clang|sanitize|tsan] [target...]
#   programs: without the tests and what only they need, by clang, which is quicker, in build-programs/
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
if [ "${1:-}" = "--preset" ]; then
  preset=$2
  shift 2
fi
if [ "$preset" = programs ]; then tools/setup.sh --programs; else tools/setup.sh; fi
cmake --preset "$preset" >/dev/null
if [ $# -eq 0 ]; then
  cmake --build --preset "$preset" --parallel "$(nproc)"
else
  cmake --build --preset "$preset" --parallel "$(nproc)" --target "$@"
fi
