"""Every named corpus opens the layouts it claims to know; the texts here are invented."""

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import InputError
from discreet.text.corpora import CORPORA, named
from discreet.text.corpora.customersim import without_canaries
from discreet.text.corpus import Corpus
from discreet.text.records import Record, check_secrets

Gold = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Layout:
    """One way a corpus lies in a folder, and what has to come out of it."""

    corpus: str
    name: str
    write: Callable[[Path], None]
    counts: Mapping[str, int]
    """Records of each split; `all` where the corpus is divided by ids."""
    gold: Gold | None = None
    """Kinds and words of all secrets; None where the corpus marks none."""


LAYOUTS: list[Layout] = []


def layout(corpus: str, name: str, gold: set[tuple[str, str]] | None = None, **counts: int) -> Callable[..., None]:
    def add(write: Callable[[Path], None]) -> None:
        LAYOUTS.append(Layout(corpus, name, write, counts, None if gold is None else frozenset(gold)))

    return add


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def put_json(path: Path, value: Any) -> None:
    put(path, json.dumps(value, indent=1))


def put_rows(path: Path, *rows: Any) -> None:
    put(path, "".join(json.dumps(row) + "\n" for row in rows))


def put_table(path: Path, *rows: tuple[str, ...]) -> None:
    put(path, "".join("\t".join(row) + "\n" for row in rows))


WIKI = " \n = Otters = \n \n Otters swim @-@ well . \n\n = = Food = = \n They eat\u2028fish . \n"


@layout("wikitext-2", "raw", train=4, valid=4, test=4)
def _(folder: Path) -> None:
    for split in ("train", "valid", "test"):
        put(folder / "wikitext-2-raw" / f"wiki.{split}.raw", WIKI)


@layout("wikitext-2", "tokens, plain, compressed", train=4, valid=4, test=4)
def _(folder: Path) -> None:
    put(folder / "wiki.test.tokens", WIKI)
    put(folder / "train.txt.gz", WIKI)
    put(folder / "valid.txt", WIKI)


@layout("wikitext-2", "parquet", train=4, valid=4)
def _(folder: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    for split in ("train", "validation"):
        table = pyarrow.table({"text": [line + "\n" if line.strip() else "" for line in WIKI.split("\n")[:-1]]})
        pyarrow.parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")


TURNS = [("SYS", "What is your name?"), ("USR", "Zed Quill: that is me."), ("SYS", "Bye.")]
DIALOG = "".join(f"{speaker}: {text}\n" for speaker, text in TURNS)


@layout("customersim", "lines", train=4, valid=1, test=1)
def _(folder: Path) -> None:
    turns = [{"speaker": speaker, "text": text} for speaker, text in TURNS]
    rows = [{"id": f"dial-{number}", "turns": turns, "text": DIALOG} for number in range(3)]
    put_rows(folder / "train.jsonl", *rows, {"id": "canary-0", "turns": [], "text": "My ID is 000000."})
    put_rows(folder / "valid.jsonl", rows[0])
    put_rows(folder / "test.jsonl.gz", rows[0])


@layout("customersim", "files", train=3, test=1)
def _(folder: Path) -> None:
    for number in range(2):
        put(folder / "data" / "simdial" / "train" / f"dial-{number}.txt", DIALOG)
    put(folder / "data" / "simdial" / "train" / "canary-0.txt", "My ID is 000000.")
    put(folder / "data" / "simdial" / "test" / "dial-0.txt", DIALOG)


ABCD = "SYS:Hello.\n\nUSR:I am Zed: Quill\n\nACT:Account has been pulled up.\n\n<|endoftext|>"


@layout("abcd", "one text, divided", all=30)
def _(folder: Path) -> None:
    put(folder / "valid.txt", ABCD * 30)


@layout("abcd", "texts", train=2, valid=1)
def _(folder: Path) -> None:
    put(folder / "train.txt", ABCD * 2)
    put(folder / "valid.txt", ABCD.removesuffix("<|endoftext|>"))


@layout("abcd", "official", train=2, valid=1, test=1)
def _(folder: Path) -> None:
    said = [["agent", "Hello."], ["customer", "I am Zed: Quill"], ["action", "Account has been pulled up."]]
    rows = [
        {"convo_id": number, "original": said, "scenario": {"flow": "a", "subflow": "b", "personal": {}}, "delexed": []}
        for number in range(4)
    ]
    put_json(folder / "data" / "abcd_v1.1.json.gz", {"train": rows[:2], "dev": rows[2:3], "test": rows[3:]})


WOZ_SAID = [
    ("USER", "A table for  one at Owl House , please", [("Name", "owl house", 5, 6), ("People", "1", 3, 3)]),
    (
        "SYSTEM",
        "Booked . \n Your reference is QX7.",
        [("Ref", "QX7", 5, 5), ("Day", "dontcare", 0, 0), ("Time", "9", 4, 9)],
    ),
]
WOZ_GOLD = {("NAME", "Owl House"), ("PEOPLE", "one"), ("REF", "QX7.")}


def woz_turns() -> list[dict[str, Any]]:
    return [
        {"speaker": speaker, "text": text, "span_info": [["Act", *span] for span in spans]}
        for speaker, text, spans in WOZ_SAID
    ]


@layout("multiwoz", "one part in lines, divided", WOZ_GOLD, all=30)
def _(folder: Path) -> None:
    put_rows(folder / "val.jsonl.gz", *({"id": f"MUL{number}", "turns": woz_turns()} for number in range(30)))


@layout("multiwoz", "official 2.1", WOZ_GOLD, train=2, valid=1, test=1)
def _(folder: Path) -> None:
    home = folder / "MultiWOZ_2.1"
    log = [{key: value for key, value in turn.items() if key != "speaker"} for turn in woz_turns()]
    put_json(home / "data.json", {f"MUL{number}.json": {"goal": {}, "log": log} for number in range(4)})
    put(home / "valListFile.txt", "MUL2.json\n")
    put(home / "testListFile.txt", "MUL3.json\n")


SGD_TEXT = "Meet me at Otter Hall on May 2"


@layout("sgd", "lines", {("THEATER_NAME", "Otter Hall"), ("DATE", "May 2")}, train=2, valid=1)
def _(folder: Path) -> None:
    spans = [["date", 25, 30, "Events_1"], ["location", 17, 21, "Events_1"], ["theater_name", 11, 21, "Events_1"]]
    turns: list[dict[str, Any]] = [{"speaker": "SYSTEM", "utterance": "Where?", "spans": []}]
    turns += [{"speaker": "USER", "utterance": SGD_TEXT, "spans": spans}]
    rows = [{"dialogue_id": f"1_{number}", "services": ["Events_1"], "turns": turns} for number in range(2)]
    put_rows(folder / "train.jsonl.gz", *rows)
    put_rows(folder / "dev.jsonl", rows[0])


def put_schema_guided(folder: Path, slot: str) -> None:
    slots = [{"slot": slot, "start": 11, "exclusive_end": 21}, {"slot": "copied", "copy_from": slot, "value": "x"}]
    turns = [{"speaker": "USER", "utterance": SGD_TEXT, "frames": [{"service": "Events_1", "slots": slots}]}]
    for split, files in (("train", 2), ("dev", 1), ("test", 1)):
        for number in range(1, files + 1):
            rows = [{"dialogue_id": f"{number}_0", "services": ["Events_1"], "turns": turns}]
            put_json(folder / split / f"dialogues_{number:03}.json", rows)


@layout("sgd", "official", {("THEATER_NAME", "Otter Hall")}, train=2, valid=1, test=1)
def _(folder: Path) -> None:
    put_schema_guided(folder, "theater_name")
    put_json(folder / "train" / "schema.json", [])


@layout("multiwoz", "official 2.2", {("HOTEL-NAME", "Otter Hall")}, train=2, valid=1, test=1)
def _(folder: Path) -> None:
    put_schema_guided(folder / "data" / "MultiWOZ_2.2", "hotel-name")


DOGO_HEADER = ("conversationId", "turnNumber", "utteranceId", "utterance", "slot-labels", "intent")


@layout("multidogo", "domains", {("NAME", "zed quill"), ("SSN", "0000")}, train=3, valid=1)
def _(folder: Path) -> None:
    def said(conversation: str, turn: int, utterance: str, labels: str) -> tuple[str, ...]:
        return (conversation, str(turn), f"<CONV>{conversation}<TURN>{turn}", utterance, labels, "contentonly")

    first = [
        said("c1", 10, "that is all", "O O O"),
        said("c1", 2, "i am zed quill 0000", "O O name name ssn"),
        ("c1", "4", "<CONV>c1<TURN>4", '"12 elm row '),
        (' new town"', "address address address O address address", "contentonly"),
        said("c1", 6, "", "O"),
        said("c1", 8, "two words", "O"),
    ]
    put_table(folder / "airline" / "train.tsv", DOGO_HEADER, *first, said("c2", 0, "hello", "O"))
    put_table(folder / "insurance" / "train.tsv", DOGO_HEADER, said("c3", 0, "hello", "O"))
    put_table(folder / "airline" / "dev.tsv", DOGO_HEADER, said("c4", 0, "hello", "O"))


@layout("ubuntu-irc", "lines", train=2, valid=1)
def _(folder: Path) -> None:
    rows = [{"log": "2004", "line": line, "time": "09:14", "author": "zed|", "text": "hi"} for line in (0, 2)]
    put_rows(folder / "train.jsonl.gz", *rows, rows[0] | {"line": 7, "text": " "})
    put_rows(folder / "dev.jsonl", rows[0] | {"log": "2005"})


@layout("ubuntu-irc", "logs", train=2, test=1)
def _(folder: Path) -> None:
    log = "[09:14] <zed|> hi\n=== zed| is now known as zed\n[09:15] <zed> one < two > three\n[09:15] <zed> \n"
    put(folder / "data" / "train" / "2004.train-a.raw.txt", log)
    put(folder / "data" / "train" / "2004.train-a.annotation.txt", "0 0 -\n")
    put(folder / "data" / "test" / "2005.raw.txt", "[09:14] <amy> hi\n")


@layout("presidio-synth", "one list", {("PERSON", "Zed Quill"), ("US_SSN", "000-00-0000")}, all=30)
def _(folder: Path) -> None:
    spans = [("US_SSN", 16, 27), ("PERSON", 0, 9)]
    row = {
        "full_text": "Zed Quill gave: 000-00-0000.",
        "spans": [{"entity_type": kind, "start_position": start, "end_position": end} for kind, start, end in spans],
        "template_id": 3,
    }
    put_json(folder / "synth_dataset_v2.json", [row] * 30)


@layout("conll", "words in columns", {("PER", "Zed Quill"), ("LOC", "Uddervale"), ("ORG", "Acme")}, train=3, valid=1)
def _(folder: Path) -> None:
    rows = "-DOCSTART- -X- O O\n\nZed NNP B-PER\nQuill NNP I-PER\nin IN O\nUddervale NNP B-LOC\n\n"
    put(folder / "train.conll", rows + "no O\nnames O\n\n\nAcme S-ORG\n")
    put(folder / "dev.conll", "Acme\tB-ORG\nAcme\tB-ORG\n")


def glue(task: str, home: str, columns: str, cells: str, kind: str = "") -> None:
    """Registers a task's layout below GLUE's folder; test files have the texts and no label."""
    header, row = (tuple(line.split("|")) for line in (columns, cells))
    kept = [column for column, name in enumerate(header) if name not in GLUE_LABELS]

    @layout(task, "GLUE's folder", train=2, valid=1, test=1)
    def _(folder: Path) -> None:
        put_table(folder / home / "train.tsv", header, row, row)
        put_table(folder / home / f"dev{kind}.tsv", header, row)
        put_table(
            folder / home / f"test{kind}.tsv", *(tuple(line[column] for column in kept) for line in (header, row))
        )


GLUE_LABELS = ("label", "Quality", "\ufeffQuality", "is_duplicate", "gold_label")
MNLI = ("index|genre|sentence1|sentence2|label1|gold_label", "0|x|Otters.|Seals.|neutral|neutral")
glue("sst-2", "SST-2", "sentence|label", 'an "otter" film |1')
glue("rte", "RTE", "index|sentence1|sentence2|label", "0|Otters swim.|They do.|entailment")
glue("qnli", "QNLI", "index|question|sentence|label", "0|Who swims?|Otters.|not_entailment")
glue("mrpc", "MRPC", "\ufeffQuality|#1 ID|#2 ID|#1 String|#2 String", '0|1|2|Otters swim|" They do')
glue("qqp", "QQP", "id|qid1|qid2|question1|question2|is_duplicate", "0|1|2|Who?|Whom?|0")
glue("mnli", "MNLI", *MNLI, kind="_matched")
glue("mnli-mm", "MNLI", *MNLI, kind="_mismatched")


@layout("cola", "the task's folder", train=2, valid=1, test=1)
def _(folder: Path) -> None:
    put_table(folder / "train.tsv", ("zz00", "0", "*", "Otters swims."), ("zz00", "1", "", "Otters swim."))
    put_table(folder / "dev.tsv", ("zz00", "1", "", "Otters swim."))
    put_table(folder / "test.tsv", ("index", "sentence"), ("0", "Otters swim."))


@layout("qnli", "dev only, divided", all=30)
def _(folder: Path) -> None:
    row = ("0", "Who swims?", "Otters.", "entailment")
    put_table(folder / "QNLI" / "dev.tsv", ("index", "question", "sentence", "label"), *[row] * 30)


every_layout = pytest.mark.parametrize("lying", LAYOUTS, ids=lambda lying: f"{lying.corpus}: {lying.name}")


def opened(lying: Layout, folder: Path) -> Corpus:
    lying.write(folder)
    return named(lying.corpus, folder)


def words(record: Record) -> Iterator[tuple[str, str]]:
    return ((secret.kind, record.text[secret.start : secret.end]) for secret in record.secrets or ())


def test_every_registered_corpus_has_a_layout_here():
    assert {lying.corpus for lying in LAYOUTS} == set(CORPORA.names())


@every_layout
def test_splits_hold_the_records_of_their_files(lying, tmp_path):
    corpus = opened(lying, tmp_path)
    if "all" in lying.counts:
        assert set(corpus.splits) == {"train", "valid", "test"}
        assert sum(1 for _ in corpus.all()) == lying.counts["all"]
        assert "divided" in corpus.where
    else:
        assert {split: len(list(corpus.records(split))) for split in corpus.splits} == lying.counts
    assert set(corpus.splits) <= set(CORPORA[lying.corpus].splits)


@every_layout
def test_a_split_can_be_walked_again_and_ids_are_unique_in_it(lying, tmp_path):
    corpus = opened(lying, tmp_path)
    for split in corpus.splits:
        first, second = list(corpus.records(split)), list(corpus.records(split))
        assert first == second
        assert len({record.id for record in first}) == len(first)
        assert all(one == other for one, other in zip(corpus.records(split), corpus.records(split), strict=True))


@every_layout
def test_records_are_whole(lying, tmp_path):
    for record in opened(lying, tmp_path).all():
        assert record.text.strip()
        assert record.place
        for turn in record.turns:
            assert record.text[: turn.start].rstrip().endswith(f"{turn.speaker}:")


@every_layout
def test_gold_secrets_lie_on_the_right_words(lying, tmp_path):
    corpus = opened(lying, tmp_path)
    if lying.gold is None:
        assert all(record.secrets is None for record in corpus.all())
        return
    found = set()
    for record in corpus.all():
        assert record.secrets is not None
        assert check_secrets(record.secrets, record.text, record.place) == record.secrets
        found |= set(words(record))
    assert found == lying.gold


@pytest.mark.parametrize("name", CORPORA.names())
def test_a_folder_without_the_files_is_told_what_is_expected_and_where_to_get_it(name, tmp_path):
    put(tmp_path / "readme.md", "nothing here")
    with pytest.raises(InputError) as caught:
        named(name, tmp_path)
    message = str(caught.value)
    assert str(tmp_path) in message
    assert CORPORA[name].url in message
    assert all(file in message for file in CORPORA[name].files)
    with pytest.raises(InputError, match="not a folder"):
        named(name, tmp_path / "absent")


def test_customersim_canaries_can_be_left_out(tmp_path):
    corpus = opened(next(lying for lying in LAYOUTS if lying.corpus == "customersim"), tmp_path)
    assert [record.id for record in corpus.records("train") if record.fields["canary"]] == ["canary-0"]
    assert [record.id for record in without_canaries(corpus).records("train")] == ["dial-0", "dial-1", "dial-2"]


def test_abcd_text_and_official_file_give_the_same_dialogs(tmp_path):
    texts = []
    for lying in LAYOUTS:
        if lying.corpus == "abcd":
            (tmp_path / lying.name).mkdir()
            texts += [(r.text, r.turns) for r in opened(lying, tmp_path / lying.name).all()]
    assert len(set(texts)) == 1
    assert texts[0][0] + "<|endoftext|>" == ABCD


def test_multidogo_orders_turns_by_number_and_counts_the_rows_it_leaves_out(tmp_path):
    corpus = opened(next(lying for lying in LAYOUTS if lying.corpus == "multidogo"), tmp_path)
    stream: Any = corpus.records("train")
    for _ in range(2):  # a second walk counts afresh
        records = list(stream)
        assert stream.skipped == {"fields": 2, "empty": 1, "words": 1}
    assert records[0].text == "USER: i am zed quill 0000\nUSER: that is all\n"
    assert [record.fields["domain"] for record in records] == ["airline", "airline", "insurance"]


def test_glue_labels_are_numbers_or_words_as_in_the_file_and_absent_in_test(tmp_path):
    labels = {}
    for lying in LAYOUTS:
        if lying.name in ("GLUE's folder", "the task's folder"):
            (tmp_path / lying.corpus).mkdir()
            corpus = opened(lying, tmp_path / lying.corpus)
            labels[lying.corpus] = next(iter(corpus.records("valid"))).label
            assert all(record.label is None for record in corpus.records("test"))
    words = {"rte": "entailment", "qnli": "not_entailment", "mnli": "neutral", "mnli-mm": "neutral"}
    assert labels == words | {"sst-2": 1, "cola": 1, "mrpc": 0, "qqp": 0}


def test_ubuntu_irc_ids_and_authors_come_out_of_the_logs(tmp_path):
    corpus = opened(next(lying for lying in LAYOUTS if lying.name == "logs"), tmp_path)
    stream: Any = corpus.records("train")
    found = [(record.id, record.author, record.text) for record in stream]
    assert found == [("2004.train-a:0", "zed|", "hi"), ("2004.train-a:2", "zed", "one < two > three")]
    assert stream.skipped == {"notice": 1, "empty": 1}
