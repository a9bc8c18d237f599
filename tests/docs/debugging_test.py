#!/usr/bin/env python3
"""The programs and commands of docs/debugging.md print what the page shows.

Usage: debugging_test.py BUILD_DIR [--bless]; --bless writes what is printed into the page.
"""
import sys

import pages

if __name__ == "__main__":
    sys.exit(pages.main([pages.ROOT / "docs/debugging.md"], 9))
