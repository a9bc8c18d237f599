#!/usr/bin/env python3
"""An installed tree can be moved, needs nothing of the build, and gives programs of C and C++ what they link with CMake
and with pkg-config.

Usage: install_test.py BUILD_DIR
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from tools import BIN, EXAMPLES, ROOT, run

BUILD = BIN.parent
STRICT = "-Wall -Wextra -Wpedantic -Werror"
PROGRAM = "@jit\ndef next(x: Tensor[N, f32]) -> Tensor[N, f32]:\n    return x + 1\n"
COMMANDS = ("tesserac", "tessera-opt", "tessera-fmt", "tessera-lsp", "tsr")
FILES = ("include/tessera.h", "include/tessera.hpp", "include/tessera_base.hpp", "include/tessera_frontend.h",
         "include/tessera_frontend.hpp",
         "lib/libtessera.so", "lib/libtessera_frontend.so", "lib/pkgconfig/tessera.pc",
         "lib/pkgconfig/tessera_frontend.pc", "lib/cmake/Tessera/TesseraConfig.cmake", "share/doc/tessera/LICENSE",
         "share/man/man1/tesserac.1", "share/bash-completion/completions/tsr")
# None of them says where something is.
BARE = {name: value for name, value in os.environ.items()
        if name == "TESSERA_CACHE"
        or not name.startswith(("TESSERA", "TSR", "LD_", "CMAKE", "PKG_CONFIG", "CFLAGS", "CXXFLAGS"))}


def bare(*command, **more):
    return run(*command, env=BARE | more)


def installed(folder, *options):
    """An installed tree, where it was not installed to."""
    bare("cmake", "--install", BUILD, "--prefix", folder / "first", *options)
    return (folder / "first").rename(folder / "moved here")


def check_tree(tree):
    """It is whole, and no text in it names the build, the sources or the place where it was installed first."""
    for name in FILES:
        assert (tree / name).exists(), f"there is no {name}"
    for command in COMMANDS:
        assert bare(tree / "bin" / command, "--version").startswith(f"{command} "), command
        libraries = bare("ldd", tree / "bin" / command)
        assert str(BUILD) not in libraries and "not found" not in libraries, libraries
    for path in tree.rglob("*"):
        if path.suffix in (".cmake", ".pc", ".h", ".hpp"):
            for place in (ROOT, BUILD, tree.parent / "first"):
                assert str(place) not in path.read_text(), f"{path} names {place}"


def bundles(tree, folder):
    """What the examples run, compiled by the installed compiler."""
    source, plain, kernel = folder / "next.tsr", folder / "next.bundle", folder / "tile_linear.bundle"
    source.write_text(PROGRAM)
    bare(tree / "bin/tesserac", source, "-o", plain)
    bare(tree / "bin/tesserac", EXAMPLES / "tile_linear/tile_linear.tsr", "-o", kernel)
    return plain, kernel


def with_cmake(tree, folder):
    """The folder of the examples, built by CMake as C99 and C++17."""
    made = folder / "cmake"
    bare("cmake", "-S", EXAMPLES, "-B", made, f"-DCMAKE_PREFIX_PATH={tree}", f"-DCMAKE_C_FLAGS={STRICT}",
         f"-DCMAKE_CXX_FLAGS={STRICT}")
    bare("cmake", "--build", made, "--parallel", "2")
    return made


def with_make(tree, folder):
    """The same by make and pkg-config, as C99 and C++20."""
    made = folder / "make"
    bare("make", "-C", EXAMPLES, "-j2", f"FOLDER={made}", f"CFLAGS={STRICT}", f"CXXFLAGS={STRICT} -std=c++20",
         PKG_CONFIG_PATH=str(tree / "lib/pkgconfig"))
    return made


def check_programs(made, plain, kernel):
    assert bare(made / "embed_c", plain, "next", 3) == "1\n2\n3\n"
    assert bare(made / "embed_cpp", plain, "next", 3) == "1\n2\n3\n"
    refused = subprocess.run([made / "embed_cpp", plain, "last", "3"], env=BARE, capture_output=True, text=True,
                             check=False)
    assert refused.returncode == 1
    assert refused.stderr == "TSR_ENOTFOUND: the bundle has no entry 'last'; it has next\n", refused.stderr
    printed = bare(made / "example_tile_linear", kernel)
    assert re.fullmatch(r"tile_linear_bf16 200x150x96: largest error \S+ units of 2\^-8\n", printed), printed
    source = plain.with_suffix(".tsr")
    assert bare(made / "example_shapes", source, "N=3").endswith("0 conditions and 0 sizes are left for calls\n")
    assert bare(made / "example_entries", source).startswith("next\n")


def configure(tree, folder, request):
    """What CMake says of a project that asks so for Tessera; None where it finds it."""
    project = folder / "request"
    shutil.rmtree(project, ignore_errors=True)
    project.mkdir()
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(request LANGUAGES NONE)\n"
                                            f"find_package(Tessera {request} REQUIRED)\n")
    done = subprocess.run(["cmake", "-S", project, "-B", project / "made", f"-DCMAKE_PREFIX_PATH={tree}"], env=BARE,
                          capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else " ".join(done.stderr.split())


def check_versions(tree, folder):
    """Versions and components that a project may ask for."""
    assert configure(tree, folder, "0.1 COMPONENTS runtime compiler") is None
    for version in ("0.2", "1.0", "0.1.1"):
        assert "compatible with requested version" in configure(tree, folder, version), version
    assert "component 'python' is not installed" in configure(tree, folder, "COMPONENTS python")


def check_runtime_alone(folder):
    """A machine that only runs bundles."""
    tree = installed(folder, "--component", "runtime")
    assert sorted(path.name for path in (tree / "bin").iterdir()) == ["tsr"]
    assert configure(tree, folder, "COMPONENTS runtime") is None
    assert "component 'compiler' is not installed" in configure(tree, folder, "COMPONENTS compiler")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tree = installed(folder)
        check_tree(tree)
        plain, kernel = bundles(tree, folder)
        check_programs(with_cmake(tree, folder), plain, kernel)
        check_programs(with_make(tree, folder), plain, kernel)
        check_versions(tree, folder)
        (folder / "alone").mkdir()
        check_runtime_alone(folder / "alone")


if __name__ == "__main__":
    main()
