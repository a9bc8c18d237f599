#!/usr/bin/env python3
"""examples/resnet18 beside its NumPy program, in f32 and bf16.

Usage: resnet18_test.py BUILD_DIR
"""
import tempfile

import models

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        models.compile_and_check("resnet18", name)
