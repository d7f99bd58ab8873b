"""Bytes to lines of text: compression, byte order marks, encodings and line ends.

Only `\\n` and `\\r\\n` end a line; the other characters Unicode calls line separators are part of the text. Lines are
decoded one by one, so that a byte which does not belong names its line.
"""

import codecs
import contextlib
import io
import lzma
import zlib
from collections.abc import Iterator
from typing import IO, cast

from discreet.errors import InputError, SettingError
from discreet.files import COMPRESSIONS, open_binary
from discreet.text.formats.contract import Bad, Source


def check_encoding(name: str) -> str:
    """The codec's own name for an encoding; refuses what is not a text encoding."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError):
        raise SettingError(f"'{name}' is not a text encoding; try utf-8, cp1252, latin-1 or utf-16.") from None
    return "utf-8" if codec.name == "utf-8-sig" else codec.name


@contextlib.contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of a file below its compression; broken compression is one sentence."""
    with _packing_errors(source), open_binary(source.path) as stream:
        if source.path.suffix in COMPRESSIONS:
            stream = cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", stream), 1 << 20))
        yield stream


def byte_lines(source: Source) -> Iterator[bytes]:
    """The lines of a file with their ends, in UTF-8 where `line_encoding` says so; a byte order mark is dropped."""
    with opened(source) as stream:
        if line_encoding(source) != source.encoding:
            yield from _recoded(stream, source)
            return
        first = stream.readline()
        if source.encoding == "utf-8":
            first = first.removeprefix(codecs.BOM_UTF8)
        if first:
            yield first
        yield from stream


def line_encoding(source: Source) -> str:
    """The encoding of `byte_lines`: the file's own, or UTF-8 where a line end is more than one byte."""
    return source.encoding if "\n".encode(source.encoding) == b"\n" else "utf-8"


def text_lines(source: Source) -> Iterator[str | Bad]:
    """The decoded lines of a file with their ends; a line in another encoding is bad."""
    encoding = line_encoding(source)
    for line in byte_lines(source):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            yield wrong_encoding(error, line, encoding)


def whole_text(source: Source) -> str | Bad:
    """All of a file as one text."""
    with opened(source) as stream:
        content = stream.read()
    try:
        return content.decode(source.encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        return wrong_encoding(error, content, source.encoding)


def without_end(line: str) -> str:
    """A line without its line end."""
    return line[:-2] if line.endswith("\r\n") else line[:-1] if line.endswith("\n") else line


def wrong_encoding(error: UnicodeDecodeError, content: bytes, encoding: str) -> Bad:
    """What to say of bytes that do not decode, with a guess at what they are."""
    return Bad(
        "wrong encoding",
        f"byte {error.start + 1} (0x{content[error.start]:02x}) is not {encoding}; "
        f"read it with --encoding {likely_encoding(content)}.",
    )


def likely_encoding(content: bytes) -> str:
    """A guess at the encoding of bytes that are not UTF-8."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or content.count(0) * 3 > len(content):
        return "utf-16"
    # 0x80 to 0x9f are invisible controls in Latin-1 but quotes and dashes in Windows-1252
    return "cp1252" if any(0x80 <= byte <= 0x9F for byte in content) else "latin-1"


def _recoded(stream: IO[bytes], source: Source) -> Iterator[bytes]:
    """Lines in UTF-8 of a file in UTF-16 or the like, whose line ends cannot be found byte by byte."""
    number = 0
    try:
        with io.TextIOWrapper(stream, encoding=source.encoding, newline="\n") as lines:
            for line in lines:
                number += 1
                yield (line.removeprefix("\ufeff") if number == 1 else line).encode()
    except UnicodeError:
        raise InputError(
            f"{source.path}, after line {number}: the bytes are not {source.encoding}; name the right --encoding."
        ) from None


@contextlib.contextmanager
def _packing_errors(source: Source) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and (error.errno is not None or source.path.suffix not in COMPRESSIONS):
            raise  # the disk's trouble, not the file's
        packing = source.path.suffix
        raise InputError(
            f"{source.path}: the {packing} compression is cut short or broken; get the file again, "
            f"or rename it if it is not {packing}."
        ) from None
