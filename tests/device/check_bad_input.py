#!/usr/bin/env python3
"""What a GPU's user may do wrong: each mistake gives a status and a text that says what to do, and work goes on."""

import ctypes
import sys

import numpy

import device
import tessera_ctypes


class Checks:
    def __init__(self):
        self.failures = 0

    def expect(self, what, status, text, wanted, *words):
        right = status == wanted and all(word in text for word in words)
        self.failures += not right
        print(f"{'ok' if right else 'WRONG':<6}{what:<44}{status}\n      {text}", flush=True)


def error_of(library, action):
    """The text of what an action raises."""
    try:
        action()
    except tessera_ctypes.Error as error:
        return str(error)
    return ""


def main():
    library, checks = device.open_library(), Checks()
    context = device.context_of(library, "cuda:0")
    module = device.load(context, "programs")
    gemm = module.entry("gemm")
    half = numpy.zeros((64, 64), numpy.uint16)
    a, b, c = (device.Array(context, "bf16", half) for _ in range(3))

    def call(x, y, z):
        return device.call_status(gemm, [x, y], [z])

    shifted = device.Array(context, "bf16", half, offset=2)
    checks.expect("a tensor at an odd address", *call(shifted, b, c), "TSR_EINVAL", "'a'", "16")
    strided = device.Array(context, "bf16", half, strides=(1, 64))
    checks.expect("a transposed tensor", *call(strided, b, c), "TSR_EINVAL", "'a'")
    checks.expect("a transposed result", *call(a, b, strided), "TSR_EINVAL")
    elsewhere = device.Array(context, "bf16", half, device=(2, 1))
    checks.expect("a tensor that says it is on cuda:1", *call(elsewhere, b, c), "TSR_EINVAL", "'a'", "cuda:1", "cuda:0")
    pageable = device.Array(context, "bf16", half, device=(1, 0))
    checks.expect("a tensor that says it is on the CPU", *call(a, pageable, c), "TSR_EINVAL", "'b'")
    other = device.Array(context, "f16", half)
    checks.expect("a tensor of another dtype", *call(other, b, c), "TSR_EINVAL", "'a'", "bf16")
    narrow = device.Array(context, "bf16", half[:, :32].copy())
    checks.expect("factors that do not fit", *call(narrow, b, c), "TSR_EINVAL")
    memory = ctypes.c_void_p()
    status = library.c.tsrAlloc(context.handle, ctypes.c_size_t(1 << 42), 1, ctypes.byref(memory))
    checks.expect("4 TB of memory", library.c.tsrStatusName(status).decode(), library.c.tsrGetLastError().decode(),
                  "TSR_EOOM")
    handle = ctypes.c_void_p()
    options = device.tessera_ctypes.ContextOptions(ctypes.sizeof(device.tessera_ctypes.ContextOptions), b"cuda:63")
    status = library.c.tsrCreateContextWith(ctypes.byref(options), ctypes.byref(handle))
    checks.expect("no such device", library.c.tsrStatusName(status).decode(), library.c.tsrGetLastError().decode(),
                  "TSR_EUNSUPPORTED", "cuda:63")
    for bundle, what, words in (("other_architecture", "a cubin of another architecture",
                                 ("--target", "TSR_ALLOW_JIT")),
                                ("ptx_only", "PTX where compiling is not allowed", ("JIT",)),
                                ("cpu_only", "a bundle without code for a GPU", ("tesserac",))):
        image = (device.HERE / "bundles" / f"{bundle}.bundle").read_bytes()
        loaded = ctypes.c_void_p()
        status = library.c.tsrLoadModuleWith(context.handle, image, ctypes.c_size_t(len(image)), None,
                                             ctypes.byref(loaded))
        checks.expect(what, library.c.tsrStatusName(status).decode(),
                      library.c.tsrGetLastError().decode() if status else "it was loaded", "TSR_EUNSUPPORTED", *words)
    checks.expect("and afterwards a call that is right", *call(a, b, c), "TSR_SUCCESS")
    print(f"bad input: {checks.failures} wrong")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
