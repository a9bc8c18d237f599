#!/usr/bin/env python3
"""Makes the mistakes that compute-sanitizer is there to find: a result with too little memory (memcheck), a product
without its barriers (racecheck). What watches this has to complain."""

import sys

import numpy

import device


def main():
    context = device.context_of(device.open_library(), "cuda:0")
    if sys.argv[1] == "race":
        half = numpy.ones((128, 96), numpy.float32).view(numpy.uint32)
        device.run(device.load(context, "race").entry("product"),
                   [("f32", half), ("f32", half.T.copy())], [("f32", (128, 128))])
        return
    x = device.Array(context, "bf16", numpy.zeros((512, 4096), numpy.uint16))
    y = device.Array(context, "bf16", shape=(1, 64))
    y.shape = (device.ctypes.c_int64 * 2)(512, 4096)
    y.tensor.shape = y.shape
    print(device.call_status(device.load(context, "programs").entry("softmax_rows"), [x], [y]))


if __name__ == "__main__":
    main()
