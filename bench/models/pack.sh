#!/usr/bin/env bash
# Collects what another x86-64 Linux machine needs to check the models of examples/ against float64 on its CPU and on
# its NVIDIA GPU, and to time GPT there. It needs Python with NumPy.
# Usage: bench/models/pack.sh DIR [--no-gpu]
# There, DIR/run.sh checks every model on each device and prints a table of times last.
set -euo pipefail

if [ $# -eq 0 ] || [ "$1" = "--help" ] || [ "$1" = "-h" ]; then
  sed -n '2,5s/^# //p' "$0"
  exit 0
fi
case $1 in -*) echo "$(basename "$0"): the first argument is a folder, not '$1'" >&2; exit 1 ;; esac
folder=$(realpath -m "$1")
targets=cpu:x86-64-v4,cpu:x86-64-v4-amx
options=()
if [ "${2:-}" != "--no-gpu" ]; then
  targets+=,cuda:sm_90a
  options=(--cubin)
fi
cd "$(dirname "$0")/../.."
cmake --preset release >/dev/null
cmake --build build --target tesserac tsr >/dev/null
rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,bundles,examples,tests/e2e}

compile() {  # MODEL SIZE
  for dtype in f32 bf16; do
    defines=(-D "SIZE=$2")
    [ $dtype = f32 ] || defines+=(-D BF16)
    build/bin/tesserac "examples/$1/$1.tsr" "${defines[@]}" --target="$targets" "${options[@]}" \
      -o "$folder/bundles/$1-$2-$dtype.bundle"
  done
}
for model in gpt llama vit resnet18; do compile "$model" tiny; done
compile gpt small
compile gpt base

cp build/bin/tsr "$folder/bin/"
ldd build/bin/tsr | awk '$2 == "=>" {print $1, $3}' | grep -vE '^(libc|libm|libdl|libpthread|librt|libgcc_s)\.so' |
  while read -r name path; do cp -L "$path" "$folder/lib/$name"; done
cp examples/*.py "$folder/examples/"
for model in gpt llama vit resnet18; do
  mkdir "$folder/examples/$model"
  cp "examples/$model/$model.py" "$folder/examples/$model/"
done
cp tests/e2e/models.py "$folder/tests/e2e/"
cp bench/models/device.py "$folder/"
cat >"$folder/run.sh" <<'SCRIPT'
#!/usr/bin/env bash
# Checks the models and times GPT; options are those of device.py.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OPENBLAS_THREAD_TIMEOUT=16
exec python3 "$here/device.py" "$here" "$@"
SCRIPT
chmod +x "$folder/run.sh"
du -sh "$folder" | sed 's/\s.*/ in /' | tr -d '\n'
echo "$folder"
