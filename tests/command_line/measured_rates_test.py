#!/usr/bin/env python3
"""The loops in which `tsr bench` measures the peak of a CPU multiply and add in one instruction each.

Where they take two, the peak is half of what the CPU reaches, and a matmul has up to twice the roofline.

Usage: measured_rates_test.py BUILD_DIR
Exit status 77, skipped: not x86, or without objdump.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys

OBJECT = "runtime/CMakeFiles/tsr.dir/tsr/measured_rates.cc.o"
LOOPS = {"multiply_256": "ymm", "multiply_512": "zmm"}
CHAINS = 12  # of measured_rates.cc, each with a multiply-add in an iteration


def main():
    objdump = shutil.which("objdump")
    if platform.machine() not in ("x86_64", "AMD64") or not objdump:
        print("not x86, or no objdump")
        return 77
    code = subprocess.run([objdump, "-dC", "--no-show-raw-insn", pathlib.Path(sys.argv[1]) / OBJECT],
                          capture_output=True, text=True, check=True).stdout
    functions = dict(re.findall(r"^[0-9a-f]+ <tessera::tool::\(anonymous namespace\)::(\w+)\([^\n]*>:\n"
                                r"((?:(?![0-9a-f]+ <)[^\n]*\n)*)", code, re.M))
    for name, register in LOOPS.items():
        fused = re.findall(rf"vfmadd\d+ps .*%{register}", functions[name])
        multiplied = re.findall(rf"vmulps .*%{register}", functions[name])
        print(f"{name}: {len(fused)} vfmadd, {len(multiplied)} vmulps")
        assert len(fused) >= CHAINS and not multiplied, functions[name]
    return 0


if __name__ == "__main__":
    sys.exit(main())
