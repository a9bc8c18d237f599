#!/usr/bin/env bash
# Compiles a byte-level language model, makes its weights and tells how well it predicts a real text. The weights
# are random: what is shown is how it runs, not what it has learnt.
# Usage: tools/demo.sh [TEXT]      (TEXT: /usr/share/common-licenses/GPL-3 when not given)
set -euo pipefail
text=$(realpath "${1:-/usr/share/common-licenses/GPL-3}")
cd "$(dirname "$0")/.."

tools/build.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

show() {
  echo
  echo "\$ $*"
  "$@"
}
PATH=$PWD/build/bin:$PATH
show tesserac --time examples/gpt/gpt.tsr -D SIZE=small -o "$folder/gpt.bundle"
show tsr inspect "$folder/gpt.bundle"
show tsr init "$folder/gpt.bundle" --seed 7 -o "$folder/gpt.safetensors"
show gpt_evaluate "$folder/gpt.bundle" "$folder/gpt.safetensors" "$text"
