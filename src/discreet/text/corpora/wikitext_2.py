"""WikiText-2: good and featured Wikipedia articles, one paragraph a line.

A record is one line that is not empty, without the space around it and otherwise exactly as it stands. Headings
(`= Name =`, `= = Section = =`) are lines of their own in the files and therefore records of their own, marked by the
field `heading`. Empty lines are no records. So a split has as many records as `grep -c '[^ ]'` counts: 23,767,
2,461 and 2,891 in the raw files. The id is the split and the line's number in the file, blank ones counted.

Read are the raw files (`wiki.train.raw`), the older ones with `<unk>` for rare words (`wiki.train.tokens`), plain
`train.txt`, and the parquet files of the Hugging Face hub, which hold the same lines and get the same ids.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet.text.corpora.contract import register
from discreet.text.corpora.layout import corpus_of, find_parts, lines
from discreet.text.corpus import Corpus
from discreet.text.records import Record

NAMES = {
    split: (f"wiki.{split}.raw", f"wiki.{split}.tokens", f"{split}.txt", f"{hub}-*.parquet")
    for split, hub in (("train", "train"), ("valid", "validation"), ("test", "test"))
}


@register(
    "wikitext-2",
    about="Wikipedia articles of good quality, 2 million words; a record is a paragraph or a heading.",
    url="https://huggingface.co/datasets/Salesforce/wikitext",
    licence="CC BY-SA 3.0, GFDL",
    files=("wiki.train.raw (.valid, .test)", "wiki.train.tokens", "train.txt", "train-*.parquet"),
)
def open_wikitext_2(folder: Path) -> Corpus:
    homes = ("", "wikitext-2-raw", "wikitext-2", "wikitext-2-raw-v1", "wikitext-2-v1")
    return corpus_of("wikitext-2", folder, find_parts(folder, NAMES, homes), _read)


def _read(split: str, path: Path, skipped: Counter[str]) -> Iterator[Record]:
    numbered = _parquet_lines(path) if path.suffix == ".parquet" else lines(path)
    for number, line in numbered:
        if text := line.strip():
            heading = text.startswith("= ") and text.endswith(" =")
            place = f"{path.name}, line {number}"
            yield Record(id=f"{split}:{number}", text=text, fields={"heading": heading}, place=place)


def _parquet_lines(path: Path) -> Iterator[tuple[int, str]]:
    import pyarrow.parquet

    number = 0
    with pyarrow.parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=1024, columns=["text"]):
            for line in batch.column(0).to_pylist():
                number += 1
                yield number, line or ""
