"""Code that a configuration names: ``module = "coins.py"`` registers worlds, learners, systems.

Running a configuration runs the code that it names. So a command asks for ``--allow-modules``
first: another person may have written the file. No other use runs this code: lists of known names
do not import it, a report is written again without it, and the terms of a federation may name none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import pathlib
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any

import msgspec

from fedbandits._schema import shown
from fedbandits.environments import registry as environment_registry
from fedbandits.environments.registry import MODULE_PREFIX
from fedbandits.errors import ConfigError, FedbanditsError
from fedbandits.systems import registry

#: Largest size of a module in bytes: larger files are data, not code.
_LARGEST = 4 << 20


class Module(msgspec.Struct, frozen=True):
    """Code beside a configuration, with the text that was read.

    ``name`` is that of the file, or of the package's folder. ``files`` are texts by their paths:
    ``coins.py``, or ``crowd/__init__.py`` and others.
    """

    name: str
    files: dict[str, bytes]

    def __hash__(self) -> int:
        return hash((self.name, self.digest))

    @property
    def digest(self) -> str:
        """SHA-256 of all files and their names."""
        digest = hashlib.sha256()
        for path, text in sorted(self.files.items()):
            digest.update(hashlib.sha256(path.encode()).digest() + hashlib.sha256(text).digest())
        return f"sha256:{digest.hexdigest()}"

    def __repr__(self) -> str:
        return f"Module({self.name!r}, {self.digest[:15]}…)"


class ModuleKeys(msgspec.Struct, frozen=True):
    """The keys of a configuration that are read before all others.

    Parameters
    ----------
    module
        Code of your own that registers environments, learners or systems: the path of a Python
        file, or of a package's folder, or a list of paths. Paths are relative to this file.
    module_digests
        Digests of these files when a run was recorded. A run writes this key into its folder; there
        is
        no need to write it by hand.
    """

    module: str | list[str] = msgspec.field(default_factory=list)
    module_digests: dict[str, str] = msgspec.field(default_factory=dict)


class _TextLoader(SourceFileLoader):
    """Runs a text from memory.

    The file may change meanwhile. Python may also have compiled an earlier text: Python compares
    size and time, and two texts can share both.
    """

    def __init__(self, name: str, path: str, text: bytes) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        """Compile the text."""
        code: CodeType = self.source_to_code(self._text, self.get_filename(fullname))
        return code


class _TextFinder:
    """Finds modules, and modules inside packages, in texts from memory."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[pathlib.Path, Mapping[str, bytes]]] = {}

    def add(self, name: str, path: pathlib.Path, files: Mapping[str, bytes]) -> ModuleSpec | None:
        """Add a module that lies at ``path``; return its import specification."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        self._known[name] = path, files
        return self.find_spec(name)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a module's import specification; None if its text was not read."""
        del path, target
        root, *inside = name.split(".")
        if root not in self._known:
            return None
        place, files = self._known[root]
        base = "/".join((place.name.removesuffix(".py"), *inside))
        for key in (f"{base}/__init__.py", f"{base}.py"):
            if key in files:
                file = str(place.parent / key)
                return spec_from_file_location(
                    name, file, loader=_TextLoader(name, file, files[key])
                )
        return None


#: The only finder of this process.
_FINDER = _TextFinder()


def take_modules(raw: dict[str, Any], folder: pathlib.Path) -> tuple[Module, ...]:
    """Import the modules that a configuration names, and remove their keys from its table.

    Paths are relative to ``folder``, where the configuration's file lies. Raises ConfigError if a
    module is missing, differs from the recorded module, fails, or its name is taken.
    """
    given = drop_module_keys(raw)
    try:
        keys = msgspec.convert(given, ModuleKeys)
    except msgspec.ValidationError:
        raise ConfigError(
            f"module: given {shown(given.get('module'))}, allowed: the path of a Python file or of "
            "a package's folder, or a list of them"
        ) from None
    paths = [keys.module] if isinstance(keys.module, str) else keys.module
    modules = tuple(_read(folder / path) for path in paths)
    names = [module.name for module in modules]
    if len({*names}) < len(names):
        raise ConfigError("module: two modules have the same name; rename one")
    for module, path in zip(modules, paths, strict=True):
        _refuse_other(module, keys.module_digests)
        load_module(module, (folder / path).absolute())
    return modules


def drop_module_keys(raw: dict[str, Any]) -> dict[str, Any]:
    """Remove the keys about modules from a table, and return them."""
    return {key: raw.pop(key) for key in ("module", "module_digests") if key in raw}


def refuse_modules(raw: Mapping[str, Any]) -> None:
    """Refuse a configuration that names modules; raises ConfigError with their names."""
    if "module" in raw:
        raise ConfigError(
            f"module: names {shown(raw['module'])}, whose code would run with your rights; read "
            "it, and allow it with --allow-modules"
        )


def write_modules(modules: tuple[Module, ...], folder: pathlib.Path) -> None:
    """Write modules into a folder, for :func:`take_modules`."""
    for module in modules:
        for path, text in module.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(text)


def table_of(modules: tuple[Module, ...]) -> dict[str, Any]:
    """Return the keys for :func:`take_modules`, for modules that lie beside the file."""
    if not modules:
        return {}
    return {
        "module": [module.name for module in modules],
        "module_digests": {module.name: module.digest for module in modules},
    }


def _read(path: pathlib.Path) -> Module:
    """Read all texts of a module or package."""
    if path.is_dir() and not (path / "__init__.py").is_file():
        raise ConfigError(f"module: {path}: a package's folder has an __init__.py")
    if not path.is_dir() and path.suffix != ".py":
        raise ConfigError(f"module: {path}: must be a .py file or a package's folder")
    if not path.name.removesuffix(".py").isidentifier():
        raise ConfigError(f"module: {path.name!r}: must be a name in Python, such as coins.py")
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    try:
        if sum(file.stat().st_size for file in files) > _LARGEST:
            raise ConfigError(
                f"module: {path}: is larger than 4 MiB; a module may contain only code"
            )
        texts = {file.relative_to(path.parent).as_posix(): file.read_bytes() for file in files}
    except OSError as error:
        raise ConfigError(f"module: {path}: cannot be read ({error.strerror})") from None
    return Module(path.name, texts)


def _refuse_other(module: Module, recorded: Mapping[str, str]) -> None:
    """Refuse a module that has changed since the configuration was recorded."""
    before = recorded.get(module.name)
    if before is not None and before != module.digest:
        raise ConfigError(
            f"module_digests.{module.name}: the module has changed since this configuration was "
            "recorded; put the old one back, or remove module_digests to run the new one"
        )


def load_module(module: Module, path: pathlib.Path) -> None:
    """Import a module from ``path``, unless the same text is imported already.

    Raises ConfigError, with the line of the module, if the module fails.
    """
    name = _imported_as(module)
    if _imported_digest(module) == module.digest and _has_registered(name):
        return
    for known in [
        imported for imported in sys.modules if imported == name or imported.startswith(f"{name}.")
    ]:
        del sys.modules[known]
    spec = _FINDER.add(name, path, module.files)
    if spec is None or spec.loader is None:
        raise ConfigError(f"module: {path}: is not a Python module")
    imported_module = importlib.util.module_from_spec(spec)
    sys.modules[name] = imported_module
    try:
        spec.loader.exec_module(imported_module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, FedbanditsError):
            raise type(error)(f"module {path.name}: {error}") from error
        if not isinstance(error, Exception):
            raise
        hint = ""
        if isinstance(error, ImportError) and (path.parent / f"{error.name}.py").is_file():
            hint = (
                "; it lies beside the module, but a module is one file: put both into a folder "
                "with an __init__.py, name the folder, and import with a dot"
            )
        where = f"module {path.name}{_line_of(error, imported_module)}"
        raise ConfigError(f"{where}: {type(error).__name__}: {_text_of(error)}{hint}") from error
    if not _has_registered(name):
        raise ConfigError(
            f"module {path.name}: registers nothing; put @fb.register above each of its classes"
        )
    imported_module.__fedbandits_digest__ = module.digest  # type: ignore[attr-defined]


def hold_texts(modules: tuple[Module, ...]) -> None:
    """Refuse modules that this process has replaced by others of the same name.

    The registered names then belong to the other modules.
    """
    for module in modules:
        if _imported_digest(module) not in ("", module.digest):
            raise ConfigError(
                f"module {module.name}: this process has since read another text of that name; "
                "read the configuration again with fb.load, or give the modules two names"
            )


def _imported_as(module: Module) -> str:
    return MODULE_PREFIX + module.name.removesuffix(".py")


def _imported_digest(module: Module) -> str:
    """Return the digest of the text that is imported under a module's name; empty if none."""
    return getattr(sys.modules.get(_imported_as(module)), "__fedbandits_digest__", "")


def _has_registered(name: str) -> bool:
    """Tell whether a module, or a module inside it, has registered a class."""
    modules = registry.modules_of_registered() | environment_registry.modules_of_registered()
    return any(registered.split(".")[0] == name for registered in modules)


def _text_of(error: BaseException) -> str:
    """Return the text of an error, in one line."""
    return error.msg if isinstance(error, SyntaxError) else str(error).replace("\n", " ")


def _line_of(error: BaseException, module: ModuleType) -> str:
    """Return the line of a module's text in which an error arose, in words."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == module.__file__
    ]
    if isinstance(error, SyntaxError) and error.lineno:
        lines.append(error.lineno)
    return f", line {lines[-1]}" if lines else ""
