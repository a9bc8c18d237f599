#!/usr/bin/env bash
# Compiles a byte-level language model, makes its parameters and runs its loss over a real text.
# Usage: tools/demo.sh [TEXT]      (TEXT: /usr/share/common-licenses/GPL-3 when not given)
set -euo pipefail
text=$(realpath "${1:-/usr/share/common-licenses/GPL-3}")
cd "$(dirname "$0")/.."

tools/build.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo
echo "tesserac examples/bytelm/bytelm.tsr"
build/bin/tesserac --time examples/bytelm/bytelm.tsr -o "$folder/bytelm.bundle"
echo
build/bin/tsr inspect "$folder/bytelm.bundle"
echo
echo "tsr init --seed 7"
build/bin/tsr init "$folder/bytelm.bundle" --seed 7 -o "$folder/weights.safetensors"
echo
build/bin/bytelm_evaluate "$folder/bytelm.bundle" "$folder/weights.safetensors" "$text"
