#!/usr/bin/env bash
# Runs clang-tidy with the list of .clang-tidy over the C++ files that changed.
# Usage: tools/tidy.sh [BUILD_DIR [FILE...]]   (build; the files of the last commit and of the work tree)
#        tools/tidy.sh BUILD_DIR --all
# Exit status: 77 where clang-tidy is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
[ $# -eq 0 ] || shift
tidy=$(command -v clang-tidy-19 || command -v clang-tidy) || { echo "clang-tidy is not installed"; exit 77; }

if [ "${1:-}" = "--all" ]; then
  mapfile -t files < <(git ls-files 'src/*.cc' 'runtime/*.cc')
elif [ $# -gt 0 ]; then
  files=("$@")
else
  mapfile -t files < <({ git diff --name-only HEAD~1 2>/dev/null || true; } | grep -E '^(src|runtime)/.*\.cc$' || true)
fi
present=()
for file in "${files[@]}"; do [ ! -f "$file" ] || present+=("$file"); done
echo "${#present[@]} files"
[ ${#present[@]} -eq 0 ] || printf '%s\0' "${present[@]}" | xargs -0 -n 4 -P "$(nproc)" "$tidy" --quiet -p "$build"
