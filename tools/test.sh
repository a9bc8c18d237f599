#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test; ends with ctest's closing lines.
# Usage: tools/test.sh [ctest options, such as -R name]
set -euo pipefail
cd "$(dirname "$0")/.."

tools/build.sh
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
