"""Ubuntu IRC: help chat with the nickname of every author, from the disentanglement corpus of Kummerfeld et al. 2019.

A record is one message, its author the nickname as it stands (one person may have used several), its id
`log:line` with lines counted from 0. Messages often begin with the nickname of the person they speak to. `log`,
`line` and `time` are fields. Nothing is marked as secret.

Left out, and counted in the split's `skipped`: `empty`, messages without text; `notice`, lines of the raw logs that
are no message (people joining, being renamed, acting).

Read are the official raw logs, `train/*.raw.txt`, `dev/*.raw.txt`, `test/*.raw.txt`, and one message a line in
`train.jsonl` with `log, line, time, author, text`; both give the same ids.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet.text.corpora.contract import register
from discreet.text.corpora.layout import corpus_of, find_parts, json_rows, laid_out, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record

MESSAGE = re.compile(r"\[(?P<time>\d\d:\d\d)\] <(?P<author>[^>]+)>(?: (?P<text>.*))?")
NAMES = {
    split: (f"{part}/*.raw.txt", f"{part}.jsonl")
    for split, part in (("train", "train"), ("valid", "dev"), ("test", "test"))
}


@register(
    "ubuntu-irc",
    about="Help chat of the Ubuntu channel with its authors' nicknames; a record is a message.",
    url="https://github.com/jkkummerfeld/irc-disentanglement",
    licence="CC BY 4.0",
    files=("train/*.raw.txt (dev, test)", "train.jsonl (dev, test)"),
)
def open_ubuntu_irc(folder: Path) -> Corpus:
    return corpus_of("ubuntu-irc", folder, find_parts(folder, NAMES, ("", "data")), _read)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    messages = _json_messages(path) if ".jsonl" in path.suffixes else _logged_messages(path, skipped)
    for record in messages:
        if record.text.strip():
            yield record
        else:
            skipped["empty"] += 1


def _json_messages(path: Path) -> Iterator[Record]:
    for place, row in json_rows(path):
        with laid_out(place, "Ubuntu IRC messages"):
            record = _record(row["log"], row["line"], row["time"], row["author"], row["text"], place)
        yield record


def _logged_messages(path: Path, skipped: Counter[str]) -> Iterator[Record]:
    log = path.name.partition(".raw.txt")[0]
    for number, line in lines(path, errors="replace"):  # what people typed in the clients of 2004 is not all UTF-8
        found = MESSAGE.fullmatch(line)
        if found is None:
            skipped["notice"] += 1
            continue
        place = f"{path.name}, line {number}"
        yield _record(log, number - 1, found["time"], found["author"], found["text"] or "", place)


def _record(log: str, line: int, time: str, author: str, text: str, place: str) -> Record:
    fields = {"log": log, "line": line, "time": time}
    return Record(id=f"{log}:{line}", text=text, author=author, fields=fields, place=place)
