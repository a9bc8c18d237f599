#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test; ends with ctest's closing lines.
# Usage: tools/test.sh [ctest options, such as -R name]
#        tools/test.sh --sanitize [ctest options]   every test with AddressSanitizer and UBSan (build-sanitize/),
#                                                   then the runtime's with ThreadSanitizer (build-tsan/)
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${1:-}" = "--sanitize" ]; then
  shift
  export UBSAN_OPTIONS=print_stacktrace=1
  ulimit -s 65536  # frames with sanitizers are several times as large
  tools/build.sh --preset sanitize
  # Interposed allocators and sanitizers exclude each other.
  ctest --test-dir build-sanitize --output-on-failure -j "$(nproc)" -E '^e2e_faults_test$' "$@"
  export TSAN_OPTIONS=suppressions=$PWD/tools/sanitizers/races.txt
  tools/build.sh --preset tsan unit_runtime
  ctest --test-dir build-tsan --output-on-failure -R '^unit_runtime'
  exit
fi
tools/build.sh
tools/setup.sh --editors
ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
