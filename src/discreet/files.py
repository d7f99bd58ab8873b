"""Files that appear whole or not at all, read through whatever compressed them."""

import bz2
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

COMPRESSIONS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}


def bare_suffix(path: Path) -> str:
    """The extension below any compression: `.jsonl` for `mail.jsonl.gz`."""
    name = Path(path.name.removesuffix(path.suffix)) if path.suffix in COMPRESSIONS else path
    return name.suffix.lower()


def open_binary(path: Path) -> IO[bytes]:
    """Opens a file for reading bytes, decompressing by its extension."""
    opener = COMPRESSIONS.get(path.suffix)
    return cast("IO[bytes]", opener(path, "rb")) if opener else path.open("rb", buffering=1 << 20)


@contextlib.contextmanager
def whole_binary(path: Path) -> Iterator[IO[bytes]]:
    """Writes a file (compressed by its extension) that takes its name only when all of it is on disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as raw:
            opener = COMPRESSIONS.get(path.suffix)
            if opener:
                with cast("IO[bytes]", opener(raw, "wb")) as packed:
                    yield packed
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        fsync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def whole_text(path: Path) -> Iterator[IO[str]]:
    """As `whole_binary`, for UTF-8 text with `\\n` line ends."""
    with whole_binary(path) as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", write_through=True)
        yield text
        text.flush()
        text.detach()


def write_json(path: Path, value: Any) -> None:
    with whole_text(path) as out:
        json.dump(value, out, indent=2, sort_keys=True, ensure_ascii=False)
        out.write("\n")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def sha256_file(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """One text for one value, whatever the order of its keys: what fingerprints are taken of."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def fsync_folder(folder: Path) -> None:
    """Makes the names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
