#!/usr/bin/env bash
# Runs clang-tidy with the list of .clang-tidy over the C++ lines that the last commit and the work tree change.
# Usage: tools/tidy.sh [BUILD_DIR]              (build)
#        tools/tidy.sh BUILD_DIR --all          over every line
#        tools/tidy.sh BUILD_DIR --since REV    over what changed since a revision
# Exit status: 77 where clang-tidy is not installed, or the revision is missing (a shallow clone).
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
[ $# -eq 0 ] || shift
since=HEAD~1
[ "${1:-}" != "--since" ] || since=$2
tidy=$(command -v clang-tidy-19) && changed=$(command -v clang-tidy-diff-19.py) ||
  { echo "clang-tidy-19 is not installed"; exit 77; }
# The compile commands, and what they turn into errors, are of g++; a source that is compiled with others has that of
# one with a name like its own, which may know fewer folders.
options=(--quiet --extra-arg=-Wno-error "--extra-arg=-I$PWD" "--extra-arg=-I$PWD/src")
# Precompiled headers are of g++, and a header that is checked itself would be there twice.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/-include [^ "]*cmake_pch\.hxx//' "$build/compile_commands.json" >"$commands/compile_commands.json"
while read -r _ folder; do
  options+=("--extra-arg=-isystem$folder")
done < <(grep -oE -- '-isystem [^ "]+' "$commands/compile_commands.json" | sort -u)

if [ "${1:-}" = "--all" ]; then
  # Sources that are compiled together are read together: headers once for all of them.
  sed -nE 's#^ *"file": "(.*/(src|runtime)/.*\.c[a-z]*)",?$#\1#p' "$commands/compile_commands.json" |
    grep -Ev '/(tests|fuzz|bench|grammar)/' | sort -u |
    xargs -n 1 -P "$(nproc)" "$tidy" "${options[@]}" -p "$commands"
else
  git rev-parse --quiet --verify "$since^{commit}" >/dev/null || { echo "there is no revision $since"; exit 77; }
  # A header gets the compile command of a source with a name like its own.
  git diff -U0 "$since" -- src runtime |
    "$changed" -p1 -regex '.*\.(cc|h)' -clang-tidy-binary "$tidy" -path "$commands" -j "$(nproc)" "${options[@]/#--/-}"
fi
