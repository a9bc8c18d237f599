#!/usr/bin/env bash
# Trains a small GPT on bytes of real text for about a minute and a half, draws how its loss falls, and lets it write a
# paragraph.
# Usage: tools/demo.sh [TEXT...]      (texts: the licences in /usr/share/common-licenses when none is given)
set -euo pipefail
texts=()
for text in "$@"; do texts+=("$(realpath "$text")"); done
cd "$(dirname "$0")/.."
if [ ${#texts[@]} -eq 0 ]; then
  for text in /usr/share/common-licenses/*; do [ -L "$text" ] || texts+=("$text"); done
fi

tools/build.sh --preset programs tesserac tsr
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
data=()
for text in "${texts[@]}"; do data+=(--data "$text"); done

show() {
  echo
  echo "\$ $*"
  "$@"
}
PATH=$PWD/build-programs/bin:$PATH
show tesserac --time examples/nanogpt/nanogpt.tsr -o "$folder/nanogpt.bundle"
show tsr train "$folder/nanogpt.bundle" "${data[@]}" --batch 16 --steps 1500 --set rate=4e-3 --eval-every 250 \
  --out "$folder/nanogpt.safetensors"
show tsr generate "$folder/nanogpt.bundle" --params "$folder/nanogpt.safetensors" --prompt "The program" --tokens 400 \
  --temperature 0.7
