"""A screening goes on where it stopped, and only with what it began with; what it says is what was screened."""

import json

import orjson
import pytest

from discreet.errors import InputError, RefusedError, SettingError
from discreet.mechanisms.jft import JFTOptions, checked_sample
from discreet.mechanisms.train import train
from discreet.policy.gold import marked
from discreet.policy.measure import measure
from discreet.policy.specs import policy
from discreet.screen.marking import Mark
from discreet.screen.result import result_of, write_results
from discreet.screen.screening import beside
from discreet.text.formats.contract import Fields
from discreet.text.reading import open_records, read
from tests.screen.conftest import ME, screen_all


def test_it_goes_on_where_it_stopped_with_the_sample_it_began_with(notes, opened):
    first = opened(notes, "digits", sample=10, seed=5)
    assert not first.resumed
    screen_all(first, 4)
    first.close()
    again = opened(notes, "digits")
    assert again.resumed
    assert (again.sample.size, again.sample.seed) == (10, 5)
    assert again.sample.positions == first.sample.positions
    assert again.store.progress().done == 4
    assert again.kinds == ("NUMBER", "PERSON", "OTHER")  # the policy's, those already used, and OTHER


def test_another_sample_policy_or_file_is_refused_with_the_reason(notes, opened):
    opened(notes, "digits", sample=10, seed=5)
    for options in ({"sample": 11}, {"seed": 6}, {"split": "all"}):
        with pytest.raises(RefusedError, match=f"began with --{next(iter(options))}"):
            opened(notes, "digits", **options)
    with pytest.raises(RefusedError, match="another policy"):
        opened(notes, "nothing")
    notes.write_bytes(notes.read_bytes().replace(b"1039", b"2039"))
    with pytest.raises(RefusedError, match="records have changed"):
        opened(notes, "digits")


def test_a_policy_that_answers_otherwise_under_the_same_name_is_refused(notes, opened, monkeypatch):
    opened(notes, "digits", sample=10)
    digits = policy("digits")
    monkeypatch.setattr(type(digits), "find", lambda self, text: [])
    with pytest.raises(RefusedError, match="answers otherwise"):
        opened(notes, "digits")


def test_a_screening_that_cannot_begin_leaves_no_file_behind(notes, opened):
    with pytest.raises(InputError, match="split 'test'"):
        opened(notes, "digits", split="test")
    assert [path.name for path in notes.parent.iterdir()] == ["notes.jsonl"]


def test_a_work_file_that_cannot_be_written_is_one_sentence(notes, opened):
    with pytest.raises(InputError, match="name another"):
        opened(notes, "digits", work=notes.parent)
    with pytest.raises(InputError, match="name another"):
        opened(notes, "digits", work=notes.parent / "nowhere" / "work.sqlite")


def test_nothing_screened_is_no_result(notes, opened):
    with pytest.raises(InputError, match="no record has been screened yet"):
        result_of(opened(notes, "digits", sample=10))


def test_the_figures_are_those_counted_by_hand(tmp_path, opened):
    """Four records, one name each, of which the policy covers none, and one number each, of which it covers all.

    In the first the person also takes the number away, and in the last there is no name to mark.
    """
    path = tmp_path / "four.jsonl"
    texts = ["Ann has 1", "Ann has 22", "Ann has 333", "Bob has 4444"]
    path.write_bytes(b"".join(orjson.dumps({"text": text}) + b"\n" for text in texts))
    screening = opened(path, "digits", sample=4)
    while held := screening.store.next(ME):
        text = screening.record(held.number).text
        marks = list(held.marks)
        if text.endswith("1"):
            marks = []
        if text.startswith("Ann"):
            marks = [Mark(0, 0, 3, "PERSON"), *marks]
        held = screening.store.change(ME, held.number, held.serial, lambda _, new=tuple(marks): new)
        screening.store.finish(ME, held.number, held.serial)
    result = result_of(screening)
    assert (result.screened, result.sample, result.population) == (4, 4, 4)
    assert (result.miss_rate.count, result.miss_rate.total) == (3, 6)
    assert result.miss_rate.interval == pytest.approx((0.118117, 0.881883), abs=1e-6)  # Clopper-Pearson of 3 of 6
    assert result.recall.share == 0.5
    assert (result.precision.count, result.precision.total) == (3, 4)
    assert result.precision.interval == pytest.approx((0.194120, 0.993691), abs=1e-6)
    assert (result.tokens.count, result.tokens.total) == (3, 12)
    assert result.by_kind == {"NUMBER": (0, 3), "PERSON": (3, 3)}
    assert result.miss_rate.interval_by_record is not None
    low, high = result.miss_rate.interval_by_record
    assert 0 <= low < 0.5 < high <= 1
    assert result.recall.interval_by_record == pytest.approx((1 - high, 1 - low))


def test_a_secret_half_covered_is_missed(tmp_path, opened):
    path = tmp_path / "one.jsonl"
    path.write_text('{"text": "room 12b"}\n')
    screening = opened(path, "digits")
    held = screening.store.next(ME)
    held = screening.store.change(ME, 0, held.serial, lambda _: (Mark(0, 5, 8, "ROOM"),))
    screening.store.finish(ME, 0, held.serial)
    assert result_of(screening).miss_rate.count == 1


def test_no_miss_at_all_is_still_an_interval(tmp_path, opened):
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"text": "codes {number} 2 3 4"}}\n' for number in range(50)))
    screening = opened(path, "digits")
    screen_all(screening)
    rate = result_of(screening).miss_rate
    assert rate.interval == pytest.approx((0.0, 0.018275), abs=1e-6)  # 0 of 200, four in each record
    assert rate.interval_by_record == (0.0, 0.0)


def test_jft_takes_the_miss_rate_and_reads_the_screened_records(notes, opened):
    screening = opened(notes, "digits", sample=10, seed=5)
    screen_all(screening)
    result, records_path, rate_path = write_results(screening)
    assert rate_path is not None
    assert (records_path.name, rate_path.name) == ("notes.screened.jsonl", "notes.miss-rate.json")
    options = JFTOptions(name="jft", epsilon=3, screened=str(records_path), miss_rate=str(rate_path))
    assert checked_sample(options, policy("digits")) == (10, 20)
    with pytest.raises(RefusedError, match="another policy"):
        checked_sample(options, policy("nothing"))
    written = list(read(records_path).records("train"))
    assert [record.id for record in written] == [record.id for record in screening.sample.records]
    for record in written:
        assert {record.text[s.start : s.end] for s in marked(record)} == {"Zebulon", record.text[-5:-1]}
    value = json.loads(rate_path.read_text())
    assert (value["how"], value["records"], value["screening"]["seed"]) == ("screened", 10, 5)
    assert value["screening"]["interval"] == pytest.approx(list(result.miss_rate.interval or ()))
    assert "Zebulon" not in rate_path.read_text()
    measured = measure(written, policy("digits"))  # another way to the same figures
    assert (measured.secrets_marked, measured.secrets_found) == (result.recall.total, result.recall.count)
    assert measured.recall_interval == pytest.approx(result.recall.interval)
    assert measured.recall_interval_by_record == pytest.approx(result.recall.interval_by_record)
    assert measured.precision_interval == pytest.approx(result.precision.interval)


def test_jft_trains_with_both_files_of_a_screening(tmp_path, notes, opened):
    screening = opened(notes, "digits", sample=10, seed=5)
    screen_all(screening)
    _, records_path, rate_path = write_results(screening)
    forms = {"screened": str(records_path), "miss_rate": str(rate_path), "public_vocabulary": True}
    run = train(
        read(notes),
        "digits",
        {"name": "jft", "noise": 2.0, "batch": 10, "epochs": 1, "randomness": "fast", **forms},
        model={"name": "lstm", "embedding": 8, "hidden": 8},
        tokenizer={"train": "bpe", "vocabulary": 300},
        training={"epochs": 1},
        output=tmp_path / "run",
        progress=False,
    )
    found, missed, average = run.guarantee.bounds
    assert missed.epsilon == pytest.approx(found.epsilon)  # phase 1 read screened text only
    assert average.epsilon == pytest.approx(found.epsilon)
    assert run.guarantee.miss_rate is not None
    assert (run.guarantee.miss_rate.missed, run.guarantee.miss_rate.checked) == (10, 20)


def test_only_what_was_screened_is_written(notes, opened):
    screening = opened(notes, "digits", sample=10)
    screen_all(screening, 3)
    result, records_path, _ = write_results(screening)
    assert (result.screened, result.sample) == (3, 10)
    assert len(records_path.read_text().splitlines()) == 3


def test_fields_of_other_names_are_written_as_jft_reads_them(tmp_path, opened):
    path = tmp_path / "mail.jsonl"
    path.write_text('{"key": 7, "body": "Zebulon 1", "cc": "Zoe"}\n')
    screening = opened(open_records(path, fields=Fields(text="body", id="key")), "digits")
    screen_all(screening)
    _, records_path, _ = write_results(screening)
    (record,) = read(records_path).records("train")
    assert (record.id, record.text, len(record.secrets or ())) == ("7", "Zebulon 1", 2)
    assert "Zoe" not in records_path.read_text()


def test_the_pair_text_is_screened_too(tmp_path, opened):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"text": "a 1", "pair": "Zebulon 22"}\n')
    screening = opened(path, "digits")
    held = screening.store.next(ME)
    assert held.policy == (Mark(0, 2, 3, "NUMBER"), Mark(1, 8, 10, "NUMBER"))
    held = screening.store.change(ME, 0, held.serial, lambda marks: (*marks[:1], Mark(1, 0, 7, "PERSON"), marks[1]))
    screening.store.finish(ME, 0, held.serial)
    result, records_path, _ = write_results(screening)
    assert (result.miss_rate.count, result.miss_rate.total, result.tokens.total) == (1, 3, 4)
    (record,) = read(records_path).records("train")
    assert [secret.kind for secret in record.pair_secrets or ()] == ["PERSON", "NUMBER"]


def test_a_sample_without_secrets_has_no_miss_rate(tmp_path, opened):
    path = tmp_path / "bare.jsonl"
    path.write_text('{"text": "nothing here"}\n')
    screening = opened(path, "digits")
    screen_all(screening)
    result, records_path, rate_path = write_results(screening)
    assert (result.miss_rate.share, rate_path) == (None, None)
    assert marked(next(iter(read(records_path).records("train")))) == ()


def test_results_go_where_they_can_be_kept(notes, opened):
    screening = opened(notes, "digits", sample=2)
    screen_all(screening)
    for name in ("out.txt", "out", notes.name):
        with pytest.raises(SettingError):
            write_results(screening, notes.parent / name)
    assert beside(notes.parent / "mail.jsonl.gz", ".x") == notes.parent / "mail.x"
