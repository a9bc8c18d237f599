"""The lit tests: texts with RUN lines, checked by FileCheck. The tree mirrors src/."""
import os

import lit.formats

config.name = "tessera"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".tir", ".tsr", ".test"]
config.test_source_root = os.path.dirname(__file__)
build = lit_config.params["build"]
config.test_exec_root = os.path.join(build, "tests", "lit")
llvm = lit_config.params["llvm_tools"]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), llvm, config.environment["PATH"]])
config.environment["NO_COLOR"] = "1"
# A command on a device that is always full. The shell does it, as lit would read what it redirects, which has no end.
for name, stream in (("%into_full", ">"), ("%errors_into_full", "2>")):
    config.substitutions.append((name, f"sh -c 'exec \"$0\" \"$@\" {stream}/dev/full'"))
# A command for which LLVM finds a bug of ours.
malformed = os.path.join(build, "lib", "libmalformed.so")
config.substitutions.append(("%with_bug", f"env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD={malformed}"))
config.substitutions.append(("%root", os.path.join(config.test_source_root, "..", "..")))
