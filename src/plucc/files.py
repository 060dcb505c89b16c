"""Output that appears whole or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp, mkstemp

from plucc.types import InputError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes that name only when the block ends without an error.

    The temporary name keeps the suffix, because writers choose their format by it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another place for the output") from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)  # mkstemp makes private files; output belongs to whoever may read the folder
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; it takes that name only when the block ends without an error.

    An existing non-empty folder is never replaced.
    """
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError(f"{path} exists already: choose another output folder, or remove this one first")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another place for the output") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
