"""bf16 in NumPy: float32 arrays that hold bf16 values, and .npy files of them."""
import numpy as np


def to_bf16(x):
    """The nearest bf16 values, ties to even, as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32)


def save_bf16(path, x):
    np.save(path, (x.view(np.uint32) >> 16).astype(np.uint16).view("V2"))


def load_bf16(path):
    words = np.load(path).view(np.uint16).astype(np.uint32) << 16
    return words.view(np.float32)
