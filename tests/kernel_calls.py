"""Which compiled functions are called from Python meanwhile, and from where."""

from __future__ import annotations

import contextlib
import sys

from fedbandits._compile.lazy import Kernel


@contextlib.contextmanager
def noting_kernels(note, besides=()):
    """Call ``note`` with every kernel just before Python calls it, but for kinds ``besides``."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("fedbandits")]
    kernels = {
        each for module in loaded for each in vars(module).values()
        if isinstance(each, Kernel) and not isinstance(each, besides)
    }  # fmt: skip
    before = {kernel: kernel._load() and kernel.__call__ for kernel in kernels}

    def noting(kernel, call):
        def noted(*arguments, **named):
            note(kernel)
            return call(*arguments, **named)

        return noted

    for kernel, call in before.items():
        kernel.__call__ = noting(kernel, call)
    try:
        yield
    finally:
        for kernel, call in before.items():
            kernel.__call__ = call
