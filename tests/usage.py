"""The arguments of test scripts."""
import pathlib
import re
import sys


def build_folder(least=1):
    """The first argument, a folder of a build. Ends with the script's usage where there are fewer than `least`."""
    if len(sys.argv) <= least:
        usage = re.search(r"^Usage: .*(?:\n .*)*", sys.modules["__main__"].__doc__ or "", re.M)
        sys.exit(usage[0] if usage else f"Usage: {pathlib.Path(sys.argv[0]).name} BUILD_DIR")
    return pathlib.Path(sys.argv[1]).resolve()
