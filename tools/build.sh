#!/usr/bin/env bash
# Configures and builds Tessera into build/ (programs in build/bin/).
# Usage: tools/build.sh [--preset release|debug|fuzz] [target...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
if [ "${1:-}" = "--preset" ]; then
  preset=$2
  shift 2
fi
tools/setup.sh
cmake --preset "$preset" >/dev/null
if [ $# -eq 0 ]; then
  cmake --build --preset "$preset"
else
  cmake --build --preset "$preset" --target "$@"
fi
