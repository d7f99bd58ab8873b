"""The GLUE tasks: one sentence or a pair of them, and a label.

A record is one row. `text` is the first sentence and `pair` the second (QNLI: question and sentence), without the
space around them; `label` is as in the file, a number where the file has a number (SST-2, CoLA, MRPC, QQP) and a word
where it has a word (`entailment`). The test parts have no labels: there `label` is None. Other columns are fields, but
for MNLI's parse trees, which repeat the sentences and would outlive their redaction. The id is the split and the row's
line in the file.

The folder is the task's own or the one that holds all tasks under GLUE's names (`SST-2`, `CoLA`, ...). `mnli` is
validated on genres seen in training, `mnli-mm` on others (the `_mismatched` files). A folder with one part only, say
dev, is divided into train, valid and test by a hash of the ids.

GLUE's files do not quote: a `"` is a character. A row with too few or too many columns is an error, but in QQP, whose
public file has a few of them: there they are left out and counted in the split's `skipped` as `fields`.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from discreet.errors import InputError
from discreet.text.corpora.contract import register
from discreet.text.corpora.layout import Reader, corpus_of, find_parts, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record


class Task(NamedTuple):
    """Where a task's files are and which of their columns are what."""

    name: str
    home: str
    about: str
    licence: str
    text: str
    pair: str | None = None
    label: str = "label"
    columns: tuple[str, ...] = ()
    """The columns of files that have no header."""
    kind: str = ""
    """What stands behind `dev` and `test` in the names of the files."""
    ragged: bool = False
    """Whether the public file is known to have rows of another length."""


NOT_STATED = "not stated by its makers; research use"
TASKS = (
    Task("sst-2", "SST-2", "Film review phrases, positive or negative", NOT_STATED, "sentence"),
    Task(
        "cola",
        "CoLA",
        "English sentences, acceptable to linguists or not",
        NOT_STATED,
        "sentence",
        columns=("source", "label", "star", "sentence"),
    ),
    Task(
        "mrpc",
        "MRPC",
        "Pairs of news sentences, saying the same or not",
        "Microsoft's own, see its download page",
        "#1 String",
        "#2 String",
        "Quality",
    ),
    Task(
        "rte",
        "RTE",
        "Pairs of sentences, the second following from the first or not",
        NOT_STATED,
        "sentence1",
        "sentence2",
    ),
    Task("qnli", "QNLI", "A question and a sentence that answers it or not", "CC BY-SA 4.0", "question", "sentence"),
    Task(
        "qqp",
        "QQP",
        "Pairs of Quora questions, the same or not",
        "Quora's terms, non-commercial",
        "question1",
        "question2",
        "is_duplicate",
        ragged=True,
    ),
    *(
        Task(
            name,
            "MNLI",
            f"Pairs of sentences: entailment, contradiction or neither; {genres}",
            "OANC and others, see its page",
            "sentence1",
            "sentence2",
            "gold_label",
            kind=f"_{kind}",
        )
        for name, kind, genres in (("mnli", "matched", "known genres"), ("mnli-mm", "mismatched", "other genres"))
    ),
)


def _open(task: Task, folder: Path) -> Corpus:
    names = {"train": ("train.tsv",), "valid": (f"dev{task.kind}.tsv",), "test": (f"test{task.kind}.tsv",)}
    parts = find_parts(folder, names, (task.home, "", task.home.lower()))
    return corpus_of(task.name, folder, parts, _reader(task), divide_lone=True)


for task in TASKS:
    register(
        task.name,
        about=f"GLUE. {task.about}; a record is {'a pair' if task.pair else 'a sentence'} with its label.",
        url="https://gluebenchmark.com/tasks",
        licence=task.licence,
        files=(
            f"{task.home}/train.tsv (dev{task.kind}, test{task.kind})",
            f"train.tsv (dev{task.kind}, test{task.kind})",
        ),
    )(partial(_open, task))


def _reader(task: Task) -> Reader:
    def read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
        columns: tuple[str, ...] = ()
        for number, line in lines(path):
            values = tuple(line.split("\t"))
            if number == 1:
                header = task.text in values
                columns = values if header else task.columns
                _check_columns(task, columns, path)
                if header:
                    continue
            if not line:
                continue
            place = f"{path.name}, line {number}"
            if len(values) == len(columns):
                yield _record(task, f"{split}:{number}", dict(zip(columns, values, strict=True)), place)
            elif task.ragged:
                skipped["fields"] += 1
            else:
                raise InputError(f"{place}: {len(values)} columns where {len(columns)} belong; get the file again.")

    return read


def _check_columns(task: Task, columns: tuple[str, ...], path: Path) -> None:
    for wanted in (task.text, task.pair):
        if wanted and wanted not in columns:
            raise InputError(f"{path}, line 1: no column '{wanted}'; this is not a file of GLUE's {task.home} task.")


def _record(task: Task, name: str, row: dict[str, str], place: str) -> Record:
    text = row.pop(task.text).strip()
    pair = row.pop(task.pair).strip() if task.pair else None
    label = row.pop(task.label, None)
    number = int(label) if label is not None and label.isdecimal() else label
    fields = {column: value for column, value in row.items() if not column.endswith("_parse")}
    return Record(id=name, text=text, pair=pair, label=number, fields=fields, place=place)
