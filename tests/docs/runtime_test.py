#!/usr/bin/env python3
"""The commands of docs/runtime.md, docs/bundle.md, docs/plan.md and docs/training.md print what these pages show.

Usage: runtime_test.py BUILD_DIR [PART OF A PAGE'S NAME...] [--bless]; --bless writes what is printed into the pages.
"""
import sys

import pages

if __name__ == "__main__":
    names = ("runtime.md", "bundle.md", "plan.md", "training.md")
    sys.exit(pages.main([pages.ROOT / "docs" / name for name in names], 6))
