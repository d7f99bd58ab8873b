"""Deduplication: the first copy stays whole, later ones go or become the mask, marks stay where they belong."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import RefusedError, SettingError
from discreet.policy.specs import policy
from discreet.sanitize.dedup.parts import normalised, parts
from discreet.sanitize.dedup.run import Dedup, Tally, dedup_all
from discreet.sanitize.redact import redact_with
from discreet.text.records import Record, Secret, Turn

quick = settings(derandomize=True, deadline=None, max_examples=120)
SENTENCES = ["Hi Ann.", "My code is 4711.", "Bye!", "Really?", "HI  ann.", "My code is 4712."]
TEXT = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map(" ".join)
LINES = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=5).map("\n".join)
CORPORA = st.lists(TEXT | LINES, min_size=1, max_size=6)


def records(texts):
    return [Record(str(number), text) for number, text in enumerate(texts)]


def sentences(record):
    return [normalised(record.text[part.start : part.end]) for part in parts(record, "sentence")]


@quick
@given(CORPORA)
def test_every_sentence_is_left_exactly_once(texts):
    before = [sentence for record in records(texts) for sentence in sentences(record)]
    after = [sentence for record in dedup_all(records(texts)) for sentence in sentences(record)]
    assert after == list(dict.fromkeys(before))


@quick
@given(CORPORA)
def test_masks_stand_where_later_copies_stood(texts):
    seen: set[str] = set()
    changed = list(dedup_all(records(texts), Dedup(copies="mask")))
    assert len(changed) == len(texts)
    for record, new in zip(records(texts), changed, strict=True):
        expected = []
        for sentence in sentences(record):
            expected.append("<mask>" if sentence in seen else sentence)
            seen.add(sentence)
        pieces = re.findall(r"<mask>|[^<]+", normalised(new.text))
        assert " ".join(" ".join(pieces).split()) == " ".join(expected)
        assert [new.text[s.start : s.end] for s in new.secrets or ()] == ["<MASK>"] * expected.count("<mask>")


@quick
@given(CORPORA)
def test_deduplicating_again_changes_nothing(texts):
    once = list(dedup_all(records(texts)))
    assert [r.text for r in dedup_all(once)] == [r.text for r in once]


@quick
@given(CORPORA, st.sampled_from(["exact", "bloom"]))
def test_a_bloom_filter_and_exact_hashes_agree_on_small_corpora(texts, method):
    exact = [r.text for r in dedup_all(records(texts))]
    assert [r.text for r in dedup_all(records(texts), Dedup(method=method, expected=1000))] == exact


def test_marked_secrets_stay_marked_outside_of_what_is_gone():
    first = Record("1", "Same here. Ann called.", secrets=(Secret(11, 14, "PERSON"),))
    second = Record("2", "Bob. Same here. Cleo left.", secrets=(Secret(0, 3, "PERSON"), Secret(16, 20, "PERSON")))
    _, removed = dedup_all([first, second])
    assert removed.text == "Bob. Cleo left."
    assert [removed.text[s.start : s.end] for s in removed.secrets or ()] == ["Bob", "Cleo"]
    _, masked = dedup_all([first, second], Dedup(copies="mask"))
    assert masked.text == "Bob. <MASK> Cleo left."
    assert [(masked.text[s.start : s.end], s.kind) for s in masked.secrets or ()] == [
        ("Bob", "PERSON"),
        ("<MASK>", "DUPLICATE"),
        ("Cleo", "PERSON"),
    ]


def test_a_secret_that_reaches_out_of_a_copy_keeps_the_rest_of_its_mark():
    second = Record("2", "Same here. Ann Lee left.", secrets=(Secret(5, 14, "X"),))
    _, removed = dedup_all([Record("1", "Same here."), second])
    assert [removed.text[s.start : s.end] for s in removed.secrets or ()] == ["Ann"]


def dialog(*turns):
    text, spans = "", []
    for speaker, words in turns:
        start = len(text) + len(speaker) + 2
        text += f"{speaker}: {words}\n"
        spans.append(Turn(speaker, start, start + len(words)))
    return Record("d", text, turns=tuple(spans))


@pytest.mark.parametrize("level", ["turn", "sentence"])
def test_a_turn_without_words_goes_with_the_name_of_its_speaker(level):
    first = dialog(("SYS", "How may I help?"), ("USR", "Thanks."))
    second = dialog(("SYS", "How may I help?"), ("USR", "My name is Ann."), ("SYS", "Thanks."), ("USR", "Bye."))
    _, left = dedup_all([first, second], Dedup(level=level))
    assert left.text == "USR: My name is Ann.\nUSR: Bye.\n"
    assert [(t.speaker, left.text[t.start : t.end]) for t in left.turns] == [
        ("USR", "My name is Ann."),
        ("USR", "Bye."),
    ]
    _, masked = dedup_all([first, second], Dedup(level=level, copies="mask"))
    assert [masked.text[t.start : t.end] for t in masked.turns] == ["<MASK>", "My name is Ann.", "<MASK>", "Bye."]


TURNS = st.lists(st.tuples(st.sampled_from(["SYS", "USR"]), TEXT), min_size=1, max_size=4)


@quick
@given(st.lists(TURNS, min_size=1, max_size=4), st.sampled_from(["turn", "sentence"]))
def test_what_is_left_of_a_dialog_is_a_dialog(dialogs, level):
    before = [dialog(*turns) for turns in dialogs]
    seen: set[str] = set()
    expected = []
    for turns in dialogs:
        left = []
        for speaker, words in turns:
            pieces = [words] if level == "turn" else [words[p.start : p.end] for p in parts(Record("1", words), level)]
            kept = []
            for piece in pieces:
                kept += [] if normalised(piece) in seen else [piece]
                seen.add(normalised(piece))
            left += [(speaker, " ".join(kept))] if kept else []
        expected += [left] if left else []
    after = list(dedup_all(before, Dedup(level=level)))
    assert [r.text for r in after] == ["".join(f"{s}: {words}\n" for s, words in left) for left in expected]
    assert [[(t.speaker, r.text[t.start : t.end]) for t in r.turns] for r in after] == expected


def test_records_are_compared_with_their_pair_text_and_sentences_of_pairs_are_refused():
    rows = [Record("1", "a", pair="b"), Record("2", "a", pair="c"), Record("3", "A", pair="B ")]
    assert [r.id for r in dedup_all(rows, Dedup(level="record"))] == ["1", "2"]
    masked = list(dedup_all(rows, Dedup(level="record", copies="mask")))
    assert (masked[2].text, masked[2].pair) == ("<MASK>", "<MASK>")
    with pytest.raises(RefusedError, match="record 1: the record has a pair"):
        list(dedup_all(rows))


def test_other_splits_pass_and_are_not_remembered():
    rows = [
        Record("1", "Same.", split="test"),
        Record("2", "Same.", split="train"),
        Record("3", "Same.", split="valid"),
    ]
    assert [r.id for r in dedup_all(rows)] == ["1", "2", "3"]
    assert [r.id for r in dedup_all(rows, Dedup(split=None))] == ["1"]


def test_short_parts_can_be_left_alone():
    rows = [Record("1", "Yes. That is so."), Record("2", "Yes. That is so.")]
    assert [r.text for r in dedup_all(rows, Dedup(min_words=2))] == ["Yes. That is so.", "Yes."]


def test_a_literal_mask_is_refused_or_escaped_and_one_of_ours_is_known():
    rows = [Record("1", "Same.", place="f, line 1"), Record("2", "say <MASK> Same.", place="f, line 2")]
    with pytest.raises(RefusedError, match="f, line 2, character 4"):
        list(dedup_all(rows, Dedup(copies="mask")))
    rows = [Record("1", "Same."), Record("2", "say <MASK>\nSame.")]
    escaped = list(dedup_all(rows, Dedup(copies="mask", on_literal="escape")))[1]
    assert escaped.text == "say < MASK>\n<MASK>"
    ours = [Record("1", "Same."), Record("2", "say <MASK>\nSame.", secrets=(Secret(4, 10, "PHONE"),))]
    kept = list(dedup_all(ours, Dedup(copies="mask")))[1]
    assert kept.text == "say <MASK>\n<MASK>"
    assert [s.kind for s in kept.secrets or ()] == ["PHONE", "DUPLICATE"]


def test_masks_of_duplicates_survive_redaction_by_the_marks():
    rows = [Record("1", "Code 4711. Same."), Record("2", "Code 12. Same.")]
    masked = list(dedup_all(rows, Dedup(copies="mask")))
    redacted = [redact_with(policy("gold") | policy("digits"))(record).text for record in masked]
    assert redacted == ["Code <MASK>. Same.", "Code <MASK>. <MASK>"]


def test_it_is_counted_how_many_parts_still_hold_each_secret():
    rows = [
        Record("1", "Code 4711. It is 4711 and 4711."),
        Record("2", "Code 4711. Other 99."),
        Record("3", "Code 4711."),
    ]
    tally = Tally()
    assert len(list(dedup_all(rows, Dedup(), tally, policy("digits")))) == 2
    assert (tally.records, tally.parts, tally.copies, tally.changed, tally.dropped) == (3, 5, 2, 1, 1)
    found = tally.secrets.summary()
    assert (found["distinct"], found["parts_before"], found["parts_after"]) == (2, 5, 3)
    assert (found["most_before"], found["most_after"], found["after"]) == (4, 2, {"1": 1, "2": 1})
    assert found["most"][0] == {"kind": "NUMBER", "before": 4, "after": 2}
    assert "4711" not in str(found)


def test_counts_of_two_walks_with_one_key_add_up():
    whole, first, second = Tally(), Tally(), Tally()
    rows = [Record("1", "Code 4711."), Record("2", "Pin 12. Code 4711!")]
    second.secrets.key = first.secrets.key
    list(dedup_all(rows, Dedup(), whole, policy("digits")))
    list(dedup_all(rows[:1], Dedup(), first, policy("digits")))
    list(dedup_all(rows[1:], Dedup(), second, policy("digits")))
    first.merge(second)
    assert first.secrets.summary() == whole.secrets.summary()


@pytest.mark.parametrize(
    "wrong", [{"level": "page"}, {"method": "exactly"}, {"copies": "keep"}, {"min_words": 0}, {"mask": "a b"}]
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(SettingError):
        Dedup(**wrong)
