"""Builds the CPU kernels into the package: a plain shared library behind a C ABI, one wheel for every Python 3.

Each source file is compiled for the instructions it uses; the library chooses among them when it runs. Where there is
no x86-64 processor or no compiler, the package is whole without it: models then run on torch.
"""

import os
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

SOURCES = Path("completer/backends/cpu")
LIBRARY = SOURCES / "kernels.so"
AVX2 = ["-mavx2", "-mfma", "-mf16c"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni"]
INSTRUCTIONS = {
    "kernels_avx2": AVX2,
    "kernels_avxvnni": [*AVX2, "-mavxvnni"],
    "kernels_avx512": AVX512,
    "kernels_amx": [*AVX512, "-mamx-tile", "-mamx-int8"],
}
# Without contraction, products and sums are fused where the source says so and nowhere else: all kernels then agree.
FLAGS = [
    "-std=c++20", "-O3", "-g0", "-Wall", "-Wextra", "-fvisibility=hidden", "-ffp-contract=off", "-fno-math-errno",
    "-Wno-uninitialized", "-Wno-maybe-uninitialized",  # gcc 12 finds what its own intrinsics leave so on purpose
]  # fmt: skip


class BuildKernels(build_ext):
    def get_ext_filename(self, fullname: str) -> str:
        return str(Path(*fullname.split(".")).with_suffix(".so"))

    def build_extension(self, ext: Extension) -> None:
        temporary = Path(self.build_temp)
        objects = []
        for source in ext.sources:
            flags = [*FLAGS, *INSTRUCTIONS.get(Path(source).stem, []), *os.environ.get("CXXFLAGS", "").split()]
            objects += self.compiler.compile([source], str(temporary), depends=ext.depends, extra_postargs=flags)
        path = self.get_ext_fullpath(ext.name)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(objects, path, target_lang="c++", extra_postargs=["-pthread"])

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return []


class WheelForEveryPython(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        is_built = list(Path(self.bdist_dir).rglob(LIBRARY.name)) != []
        return "py3", "none", super().get_tag()[2] if is_built else "any"


def kernels() -> list[Extension]:
    if platform.machine().lower() not in ("x86_64", "amd64") or sys.platform == "win32":
        return []
    sources = sorted(str(path) for path in SOURCES.glob("*.cpp"))
    headers = sorted(str(path) for path in SOURCES.glob("*.h"))
    return [Extension("completer.backends.cpu.kernels", sources, depends=headers, optional=True)]


setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels, "bdist_wheel": WheelForEveryPython})
