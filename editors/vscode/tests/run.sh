#!/usr/bin/env bash
# Runs the extension's tests for ctest: exits with 77, which counts as skipped, where Node or its packages are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v npm >/dev/null || [ ! -f node_modules/.package-lock.json ]; then
  echo "skipped: needs Node, and its packages by 'npm ci' in editors/vscode (tools/setup.sh --editors)"
  exit 77
fi
exec npm test
