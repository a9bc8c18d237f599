#!/usr/bin/env bash
# Runs the extension in Visual Studio Code for ctest: exits with 77, which counts as skipped, where something is
# missing.
# Usage: editors/vscode/tests/workbench/run.sh BUILD_DIR [--screenshots DIR]
set -euo pipefail
if ! command -v node >/dev/null; then
  echo "skipped: needs Node"
  exit 77
fi
exec node "$(dirname "$0")/test.js" "$@"
