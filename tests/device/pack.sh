#!/usr/bin/env bash
# Collects what a machine with an NVIDIA driver, Python and NumPy needs to check our kernels on its GPU.
# Usage: tests/device/pack.sh DIR
# There, DIR/run.sh compares every elementwise op and cast with the CPU, repeats programs 100 times, makes mistakes on
# purpose, calls what the C ABI has for programs around, and runs compute-sanitizer's memcheck, synccheck and racecheck
# where it is found. It prints a table last.
set -euo pipefail

if [ $# -ne 1 ] || [ "$1" = "--help" ] || [ "$1" = "-h" ]; then
  sed -n '2,6s/^# //p' "$0"
  exit 0
fi
folder=$(realpath -m "$1")
cd "$(dirname "$0")/../.."
cmake --preset release >/dev/null
cmake --build build --target tesserac tessera >/dev/null
here=tests/device
mkdir -p "$folder/lib" "$folder/bundles"
cpu=cpu:x86-64-v3

compile() {  # NAME SOURCE OPTION...
  build/bin/tesserac "$2" -o "$folder/bundles/$1.bundle" "${@:3}"
}
python3 "$here/number_graph.py" >"$folder/numbers.tir"
compile numbers "$folder/numbers.tir" --cubin --target="$cpu,cuda:sm_90a"
rm "$folder/numbers.tir"
compile programs "$here/programs.tsr" --target="$cpu,cuda:sm_90a"
compile breadth "$here/breadth.tsr" --target="$cpu,cuda:sm_90a" --cubin
compile unordered "$here/unordered.tsr" --target="$cpu,cuda:sm_90a" --cubin --fast=nondet
compile programs_sm_80 "$here/programs.tsr" --target="$cpu,cuda:sm_80"
compile programs_sm_89 "$here/programs.tsr" --target="$cpu,cuda:sm_89"
compile cpu_only "$here/other.tsr" --target="$cpu"
compile ptx_only "$here/other.tsr" --target=cuda:sm_90a
# A cubin runs on its own major architecture only.
compile other_architecture "$here/other.tsr" --cubin --target=cuda:sm_80
# A product that has lost its barriers.
build/bin/tesserac "$here/race.tsr" --target=cuda:sm_80 --dump=tile -o "$folder/race.tir"
sed -i '/^ *tile\.barrier\( loc.*\)\?$/d' "$folder/race.tir"
compile race "$folder/race.tir" --target=cuda:sm_80
rm "$folder/race.tir"

cp -L build/lib/libtessera.so.2 "$folder/lib/"
ldd build/lib/libtessera.so.2 | sed -nE 's/.*=> (\S*lib(tbb|fmt)\.so\S*) .*/\1/p' | xargs -I{} cp -L {} "$folder/lib/"
cp "$here"/{device,number_graph,check_numbers,check_programs,check_bad_input,check_abi,check_controls}.py \
  bench/gpu/tessera_ctypes.py "$folder/"
cp "$here/run.sh" "$folder/"
du -sh "$folder"
