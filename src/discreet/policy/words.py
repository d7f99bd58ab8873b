r"""Secrets from a list: the names of all customers, the streets of a town (`policy: words:FILE`).

    discreet.words("names.txt", kind="PERSON")          # one entry a line, of one or more words; .gz also
    discreet.words(["Ann Lee", "Acme & Sons"], kind="NAME")

A text is cut into words (`\w+`) and single other characters; an entry is found where its words follow each other,
whatever white space stands between them, so `Ann Lee` is also found across a line break. Only whole words count: `Ann`
is not found in `Annual`, nor anything in scripts that put no space between words (use `regex` there). Entries that
overlap in the text become one secret. Case is ignored unless `ignore_case` is false; composed and decomposed accents
are the same. The cost per word of text does not depend on the length of the list.

The spec names the file and the SHA-256 of its contents, never the words, and a list that has changed since is refused.
A list given in Python or in YAML itself has no file to point at, so there the spec holds the words.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from discreet.errors import InputError, SettingError
from discreet.files import open_binary
from discreet.policy.contract import POLICIES, Policy, TextPolicy
from discreet.text.records import Secret

TOKEN = re.compile(r"(\w+|[^\w\s])")
END = ""
"""The key that says an entry ends at this node; no token is empty."""

Node = dict[str, Any]
"""Token -> the node of the tokens that may follow it."""


class Words(TextPolicy):
    """Entries of a list, found as whole words, all of one kind."""

    def __init__(self, entries: Iterable[str], kind: str, ignore_case: bool, source: Any) -> None:
        self.kind, self.ignore_case = kind, ignore_case
        self._source = source
        self._root: Node = {}
        for entry in entries:
            for form in {unicodedata.normalize("NFC", entry), unicodedata.normalize("NFD", entry)}:
                self._add(form)
        if not self._root:
            raise SettingError("The list of words is empty; give it at least one entry, or use the policy 'nothing'.")

    def _add(self, entry: str) -> None:
        node = self._root
        for token in TOKEN.findall(entry):
            node = node.setdefault(token.casefold() if self.ignore_case else token, {})
        if node is not self._root:
            node[END] = True

    def find(self, text: str) -> Sequence[Secret]:
        pieces = TOKEN.split(text)  # space, token, space, token, ..., space; the spaces may be empty
        keys = pieces[1::2]
        if self.ignore_case:
            keys = list(map(str.casefold, keys))
        begins = [at for at, key in enumerate(keys) if key in self._root]
        if not begins:
            return ()
        ends = list(accumulate(map(len, pieces)))
        return [
            Secret(ends[2 * at], ends[2 * last + 1], self.kind)
            for at in begins
            if (last := self._last(keys, at)) is not None
        ]

    def _last(self, keys: Sequence[str], at: int) -> int | None:
        """The last token of the longest entry that begins at this one, or None where none does."""
        node: Node | None = self._root[keys[at]]
        last = None
        while node is not None:
            if END in node:
                last = at
            at += 1
            node = node.get(keys[at]) if at < len(keys) else None
        return last

    def spec(self) -> Any:
        return {"words": self._source | {"kind": self.kind, "ignore_case": self.ignore_case}}


def _read(path: Path) -> tuple[list[str], str]:
    """The lines of a list and the SHA-256 of its (unpacked) contents."""
    try:
        with open_binary(path) as stream:
            data = stream.read()
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such list of words; give the path of a text file, one entry a line."
        ) from None
    lines = data.removeprefix(b"\xef\xbb\xbf").splitlines()
    entries: list[str] = []
    for number, line in enumerate(lines, 1):
        try:
            entries.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"{path}, line {number}: not UTF-8; save the list of words as UTF-8.") from None
    return entries, hashlib.sha256(data).hexdigest()


def read_list(source: str | Path | Sequence[str], sha256: str | None = None) -> tuple[list[str], dict[str, Any]]:
    """The entries of a file or list, and what a spec says of them: the words themselves only where there is no file."""
    if not isinstance(source, str | Path):
        entries = list(source)
        return entries, {"source": entries}
    path = Path(source)
    entries, digest = _read(path)
    if sha256 is not None and sha256 != digest:
        raise SettingError(
            f"{path}: the list of words is not the one with SHA-256 {sha256}; restore it, or drop 'sha256'."
        )
    return entries, {"source": path.as_posix(), "sha256": digest}


@POLICIES.register("words")
def words(
    source: str | Path | Sequence[str], kind: str = "WORD", ignore_case: bool = True, sha256: str | None = None
) -> Policy:
    """The entries of a file (one a line) or of a list; `sha256`, where given, must be that of the file."""
    entries, spec = read_list(source, sha256)
    return Words(entries, kind, ignore_case, spec)
