#!/usr/bin/env python3
"""Times a training step of examples/nanogpt of the size of GPT-2 124M beside PyTorch, on one GPU.

Usage: bench/models/train.py TSR BUNDLE [--batch 16] [--rounds 3] [--json FILE]

BUNDLE is what `tesserac nanogpt.tsr -D SIZE=base -D BF16 --target=cuda:sm_90a --cubin` writes. PyTorch has weights of
f32 under autocast to bf16, its attention of scaled_dot_product_attention, torch.compile, and fused AdamW. Medians
count. Memory is what each process adds to the GPU's at its peak.
"""
import argparse
import json
import statistics
import subprocess
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch import nn

V, C, D, L, H = 50304, 1024, 768, 12, 12


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.o = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x):
        b, s, _ = x.shape
        q, k, v = (t.view(b, s, H, D // H).transpose(1, 2) for t in self.qkv(self.n1(x)).split(D, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, D))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(C, D)
        self.blocks, self.n = nn.ModuleList(Block() for _ in range(L)), nn.LayerNorm(D)

    def forward(self, tokens):
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.wte(inputs) + self.wpe.weight[:inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.n(x) @ self.wte.weight.T
        return F.cross_entropy(logits.view(-1, V).float(), targets.reshape(-1))


def peer(batch, rounds):
    """Seconds a step, and bytes at the peak."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = GPT().cuda()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True, weight_decay=0.1)
    compiled = torch.compile(model)
    tokens = torch.randint(0, V, (batch, C + 1), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = compiled(tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(10):
            step()
        torch.cuda.synchronize()
        seconds.append((time.perf_counter() - start) / 10)
    return statistics.median(seconds), torch.cuda.max_memory_allocated()


def used():
    free, total = torch.cuda.mem_get_info()
    return total - free


def ours(tsr, bundle, batch):
    before, peak, done = used(), 0, threading.Event()

    def watch():
        nonlocal peak
        while not done.wait(0.02):
            peak = max(peak, used() - before)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    out = subprocess.run([tsr, "bench", bundle, "step", "--device", "cuda:0", "--dims", f"B={batch}", "--seconds", "4",
                          "--json"], capture_output=True, text=True)
    done.set()
    watcher.join()
    if out.returncode:
        sys.exit(out.stderr)
    return json.loads(out.stdout)["entries"][0]["median_s"], peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tsr")
    parser.add_argument("bundle")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    options = parser.parse_args()
    seconds, bytes_ours = ours(options.tsr, options.bundle, options.batch)
    peer_seconds, bytes_peer = peer(options.batch, options.rounds)
    tokens = options.batch * C
    row = {"device": torch.cuda.get_device_name(), "ms": seconds * 1e3, "peer ms": peer_seconds * 1e3,
           "ratio": peer_seconds / seconds, "tokens/s": tokens / seconds, "peer tokens/s": tokens / peer_seconds,
           "GiB": bytes_ours / 2**30, "peer GiB": bytes_peer / 2**30}
    for name, value in row.items():
        print(f"{name:14} {value if isinstance(value, str) else format(value, '.2f')}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(row, file, indent=2)


if __name__ == "__main__":
    main()
