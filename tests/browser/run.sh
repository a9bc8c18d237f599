#!/usr/bin/env bash
# Runs the tests of pages for ctest: exits with 77, which counts as skipped, where Node or Chromium is missing.
# Usage: tests/browser/run.sh BUILD_DIR [--screenshots DIR]
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "skipped: needs Node"
  exit 77
fi
exec node "$(dirname "$0")/inspector_test.js" "$@"
