"""Cases of functions and ops: what an entry returns, its inputs, and what NumPy makes of them."""
import numpy as np

RNG = np.random.default_rng(11)
CASES, OTHERS = [], []  # for all CPUs and the interpreter, and for this CPU alone
# At most, of a number. Sums in f64 are rounded at each step, here and by NumPy: as much as 16 of one's own.
ROUNDINGS = {"bf16": 2.0**-8, "f16": 2.0**-11, "f64": 16 * 2.0**-53}


def case(signature, body, inputs, wanted, tolerance=2e-5, units=None):
    """An entry of these parameters that returns `body`; `wanted` gives its results from inputs in float64.

    With `units` its floats are also given as bf16, f16 and f64, and results are off by at most so many roundings to
    that dtype of the greatest one: what is computed between is wider, so that few are more than the results' own."""
    CASES.append((signature, body, inputs, results_of(wanted, inputs), tolerance))
    for dtype, rounding in ROUNDINGS.items() if units is not None else ():
        given = [stored(v, dtype) if v.dtype.kind == "f" else v for v in inputs]
        results = results_of(wanted, map(loaded, given))
        OTHERS.append((signature.replace("f32", dtype), body, given, results, units * rounding))


def on_host(signature, body, inputs, wanted, tolerance):
    """The same for this CPU alone: one more dtype of what is tried on all of them."""
    OTHERS.append((signature, body, inputs, results_of(wanted, inputs), tolerance))


def results_of(wanted, inputs):
    with np.errstate(all="ignore"):
        results = wanted(*(v.astype(np.float64) if v.dtype.kind == "f" else v for v in inputs))
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def stored(x, dtype):
    """Numbers as a file has them, rounded to the dtype: bf16 are two bytes that mean nothing to NumPy."""
    if dtype != "bf16":
        return x.astype({"f16": np.float16, "f64": np.float64}[dtype])
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view("V2")


def loaded(x):
    if x.dtype.kind != "V":
        return x
    bits = np.frombuffer(x.tobytes(), np.uint16).astype(np.uint32) << 16
    return bits.view(np.float32).reshape(x.shape)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(__import__("math").erf)(x)


def gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
