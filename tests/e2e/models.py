"""The models of examples/ beside their NumPy programs.

A bundle in f32 must be within 2e-5 of the largest exact value; one in bf16 may be off by twice what the NumPy program
is off when it rounds where the source's types say so. Exact is the NumPy program in float64.
"""
import importlib
import pathlib
import subprocess
import sys

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

import safetensors_io  # noqa: E402
from bf16 import load_bf16, to_bf16  # noqa: E402

BOUND = 2e-5  # of max|b|, f32


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}"
    return result.stdout


def program(name):
    """The NumPy program of a model."""
    sys.path.insert(0, str(EXAMPLES / name))
    return importlib.import_module(name)


class Model:
    """A bundle with weights, on a device."""

    def __init__(self, tsr, bundle, folder, bf16=False, device="cpu"):
        self.tsr, self.bundle, self.folder, self.device = tsr, bundle, pathlib.Path(folder), device
        self.weights = self.folder / f"{pathlib.Path(bundle).stem}.safetensors"
        run(tsr, "init", bundle, "--seed", 7, "-o", self.weights)
        self.params = safetensors_io.load(self.weights)
        self.stir(bf16)
        self.exact = {key: value.astype(np.float64) for key, value in self.params.items()}

    def stir(self, bf16):
        """Biases of 0 and scales of 1 would hide mistakes: what is a vector is made irregular."""
        rng = np.random.default_rng(3)
        for key, value in self.params.items():
            if value.ndim == 1:
                value = value + 0.1 * rng.standard_normal(value.shape, dtype=np.float32)
                self.params[key] = to_bf16(value) if bf16 else value
        safetensors_io.save(self.weights, self.params, bf16)

    def call(self, entry, *options, results=(), bf16=False, **inputs):
        """What an entry gives: of `results` a dictionary, else the one that has its name. bf16 stays in its bits
        in a dictionary, for further calls."""
        arguments = []
        for key, value in inputs.items():
            np.save(self.folder / f"{key}.npy", value)
            arguments += ["--input", f"{key}={self.folder}/{key}.npy"]
        names = results or (entry,)
        for name in names:
            arguments += ["--output", f"{name}={self.folder}/{name}.out.npy"]
        run(self.tsr, "run", self.bundle, entry, "--params", self.weights, "--device", self.device, *arguments,
            *options)
        if results:
            return {name: np.load(self.folder / f"{name}.out.npy") for name in results}
        out = self.folder / f"{entry}.out.npy"
        return load_bf16(out) if bf16 else np.load(out)


def check_f32(what, got, exact):
    assert got.shape == exact.shape, (what, got.shape, exact.shape)
    error, bound = (np.max(np.abs(x), initial=0.0) for x in (got - exact, BOUND * exact))
    print(f"{what:<40} max|a-b| = {error:.3g}, bound {bound:.3g}")
    assert error <= bound, what


def check_bf16(what, got, rounded, exact):
    assert got.shape == exact.shape, (what, got.shape, exact.shape)
    ours, numpys = (float(np.max(np.abs(x - exact))) for x in (got, rounded))
    print(f"{what:<40} error {ours:.4g}, NumPy with the same casts {numpys:.4g}")
    assert ours <= 2 * numpys, what


def check_gpt(f32, bf16):
    gpt = program("gpt")
    rng = np.random.default_rng(1)

    def tokens(batch, length):
        return rng.integers(0, 256, (batch, length), dtype=np.uint8)

    context = len(f32.params["wpe"])
    for batch, length in ((1, 1), (1, 17), (3, 32), (2, context)):
        given = tokens(batch, length)
        check_f32(f"gpt logits, {batch} x {length}", f32.call("logits", tokens=given), gpt.logits(f32.exact, given))
    given = tokens(2, context + 1)
    check_f32("gpt loss", f32.call("loss", tokens=given), gpt.loss(f32.exact, given))
    if f32.device == "cpu":
        assert "blocks.{0-1}.wqkv: f32" in run(f32.tsr, "inspect", f32.bundle)
        one, two = (f32.call("loss", "--threads", n, tokens=given) for n in (1, 2))
        assert one.tobytes() == two.tobytes(), "the number of threads changed a bit"
    for batch, length in ((1, 5), (2, 33)):
        given = tokens(batch, length)
        check_bf16(f"gpt logits in bf16, {batch} x {length}", bf16.call("logits", bf16=True, tokens=given),
                   gpt.logits(bf16.params, given, to_bf16), gpt.logits(bf16.exact, given))
    texts = [tokens(2, context + 1) for _ in range(6)]  # of one mean alone the errors may cancel by chance
    check_bf16("gpt loss in bf16", np.array([bf16.call("loss", tokens=text) for text in texts]),
               np.array([gpt.loss(bf16.params, text, to_bf16) for text in texts]),
               np.array([gpt.loss(bf16.exact, text) for text in texts]))


def check_images(name, f32, bf16, side):
    """An image classifier."""
    module = program(name)
    rng = np.random.default_rng(2)
    for batch in (1, 3):
        images = rng.standard_normal((batch, side, side, 3), dtype=np.float32)
        check_f32(f"{name} classify, {batch} images", f32.call("classify", images=images),
                  module.classify(f32.exact, images.astype(np.float64)))
    check_bf16(f"{name} classify in bf16", bf16.call("classify", bf16=True, images=images),
               module.classify(bf16.params, images, to_bf16), module.classify(bf16.exact, images.astype(np.float64)))


def check_vit(f32, bf16):
    check_images("vit", f32, bf16, 16 * round((len(f32.params["position"]) - 1) ** 0.5))


def llama_scores(model, entry, tokens, cache=None):
    """The scores after [B, S] bytes that follow those in a cache, which is a file; a new one when none is named."""
    file = model.folder / (cache or "cache.safetensors")
    if cache is None:
        file.unlink(missing_ok=True)
    return model.call(entry, "--state", f"caches={file}", results=("scores",), tokens=tokens)["scores"]


def generated(model, prompt, count):
    """The likeliest `count` bytes after a text, one call of `decode` for each."""
    scores = llama_scores(model, "prefill", prompt[None])
    found = []
    for _ in range(count):
        found.append(int(np.argmax(scores[0])))
        scores = llama_scores(model, "decode", np.array([[found[-1]]], np.uint8), "cache.safetensors")
    return found


def check_llama(f32, bf16, count=128):
    llama = program("llama")
    rng = np.random.default_rng(4)
    for batch, length in ((1, 1), (2, 19), (1, 64)):
        tokens = rng.integers(0, 256, (batch, length), dtype=np.uint8)
        check_f32(f"llama prefill, {batch} x {length}", llama_scores(f32, "prefill", tokens),
                  llama.logits(f32.exact, tokens)[:, -1])
    prompt = np.frombuffer(b"The first program that", np.uint8)
    wanted = list(llama.generate(f32.params, prompt, count))
    assert generated(f32, prompt, count) == wanted, "other bytes than the NumPy program's"
    print(f"llama decode: {count} bytes are those of NumPy, {len(set(wanted))} of them different")
    check_llama_bf16(llama, bf16, rng.integers(0, 256, (2, 37), dtype=np.uint8), first=33)


def check_llama_bf16(llama, model, tokens, first):
    """The scores after the first bytes of [B, S], and after each of the others."""
    exact, rounded = llama.logits(model.exact, tokens), llama.logits(model.params, tokens, cast=to_bf16)
    for read in range(first, tokens.shape[1] + 1):
        entry = "prefill" if read == first else "decode"
        new = tokens[:, :read] if entry == "prefill" else tokens[:, read - 1:read]
        scores = llama_scores(model, entry, new, None if entry == "prefill" else "cache.safetensors").view(np.uint16)
        got = (scores.astype(np.uint32) << 16).view(np.float32)
        check_bf16(f"llama {entry} in bf16, {read} bytes", got, rounded[:, read - 1], exact[:, read - 1])


def check_resnet18(f32, bf16, side=32):
    check_images("resnet18", f32, bf16, side)


CHECKS = {"gpt": check_gpt, "llama": check_llama, "vit": check_vit, "resnet18": check_resnet18}


def compile_and_check(name, folder):
    """Checks a model compiled in its smallest size; gives it in f32."""
    from tools import BIN

    models = []
    for dtype, options in (("f32", ()), ("bf16", ("-D", "BF16"))):
        bundle = pathlib.Path(folder) / f"{name}-{dtype}.bundle"
        run(BIN / "tesserac", EXAMPLES / name / f"{name}.tsr", "-D", "SIZE=tiny", *options, "--target=host", "-o",
            bundle)
        models.append(Model(BIN / "tsr", bundle, folder, bf16=dtype == "bf16"))
    CHECKS[name](*models)
    return models[0]
