"""Write and read what a run leaves behind; nobody ever reads half a file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from compile_in_practice.failure import BuildError

if TYPE_CHECKING:
    from collections.abc import Iterator


def file_digest(path: Path) -> str:
    """Return a hash of what a file holds, an empty text where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


@contextmanager
def results_folder(folder: Path) -> Iterator[Path]:
    """Make the folder and hold it: a second build of the same environment waits.

    Raises:
        BuildError: it cannot be written, for instance because the disk is full.

    """
    lock = FileLock(folder / ".lock")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield folder
    finally:
        lock.release()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the file system into one that says what to do.

    Raises:
        BuildError: `path` cannot be written.

    """
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        remedy = "free some space, or make the folder writable"
        raise BuildError(message, remedy=remedy) from error


def write_text(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old file or the new one.

    An unchanged file keeps its time, so that Sphinx does not read it again.

    Raises:
        BuildError: `path` cannot be written.

    """
    with writing(path):
        if path.exists() and path.read_bytes() == text.encode():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def write_json(path: Path, data: Any) -> None:
    """Write `data` as JSON with sorted keys.

    Raises:
        BuildError: `path` cannot be written.

    """
    write_text(path, json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Return what `path` holds, None where there is no such file or it is broken."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # ValueError: cut, also within a character
        return None
