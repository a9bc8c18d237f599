#!/usr/bin/env bash
# Compiles two byte-level language models and makes their weights; gpt shows how well it predicts a real text,
# llama continues a sentence byte by byte. The weights are random: what is shown is how it runs, not what it has learnt.
# Usage: tools/demo.sh [TEXT]      (TEXT: /usr/share/common-licenses/GPL-3 when not given)
set -euo pipefail
text=$(realpath "${1:-/usr/share/common-licenses/GPL-3}")
cd "$(dirname "$0")/.."

tools/build.sh --preset programs tesserac tsr evaluate llama_generate
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
show evaluate "$folder/gpt.bundle" "$folder/gpt.safetensors" "$text"
show tesserac examples/llama/llama.tsr -D SIZE=small -o "$folder/llama.bundle"
show tsr init "$folder/llama.bundle" --seed 7 -o "$folder/llama.safetensors"
show llama_generate "$folder/llama.bundle" "$folder/llama.safetensors" "The first program that" --temperature 0.8
