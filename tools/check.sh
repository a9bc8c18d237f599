#!/usr/bin/env bash
# What tools/test.sh has no time for: run it before a release, and before a large change is called done. Hours on two
# cores.
#   1. clang++-19 with -Werror builds everything (build-clang/)
#   2. clang-tidy over every source
#   3. AddressSanitizer and UBSan over the unit tests, ThreadSanitizer over the runtime's
#   4. libFuzzer, SECONDS (300) for each target
#   5. hostile sources and dumps, random programs and their names
# Usage: tools/check.sh [--seconds SECONDS] [STEP...]      (STEP: 1 to 5; all of them when not given)
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=300
if [ "${1:-}" = "--seconds" ]; then
  seconds=${2:?--seconds takes a number}
  shift 2
fi
case "${1:-}" in -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit ;; esac
steps=("$@")
[ $# -gt 0 ] || steps=(1 2 3 4 5)

compile_with_clang() { tools/build.sh --preset clang; }
tidy() {
  tools/build.sh
  tools/tidy.sh build --all
}
sanitize() { tools/test.sh --sanitize -R '^unit_'; }
fuzz() {
  tools/build.sh --preset sanitize
  for target in build-sanitize/bin/fuzz_*; do
    corpus=$(cat "build-sanitize/fuzz/$(basename "$target").corpus")
    found=$(mktemp -d)
    "$target" -max_total_time="$seconds" -max_len=4096 -artifact_prefix="$found/" "$found" "$corpus"
  done
}
try_to_break() {
  tools/build.sh
  python3 tests/hostile/hostile_test.py build --count 5000 --seed "$RANDOM"
  build/bin/tessera-check --count 20000 --seed "$RANDOM"
  build/bin/tessera-check --names --count 5000 --seed "$RANDOM"
}

for step in "${steps[@]}"; do
  case "$step" in
    1) compile_with_clang ;;
    2) tidy ;;
    3) sanitize ;;
    4) fuzz ;;
    5) try_to_break ;;
    *) echo "tools/check.sh: there is no step '$step'; steps are 1 to 5" >&2; exit 1 ;;
  esac
  echo "step $step: passed"
done
