"""Redaction: no secret survives, everything public does, and a mask in the output is always ours."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from discreet.errors import InputError, RefusedError, SettingError
from discreet.policy.algebra import settle
from discreet.policy.specs import policy
from discreet.sanitize.redact import LINE_ENDS, Redaction, Tally, redact, redact_all, redact_with
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, Turn

quick = settings(derandomize=True, deadline=None, max_examples=100)
STYLES = st.sampled_from(["mask", "kind", "remove"])


def spans_in(text: str) -> st.SearchStrategy[tuple[Secret, ...]]:
    edge = st.integers(0, len(text))
    span = st.builds(lambda a, b, kind: Secret(min(a, b), max(a, b), kind), edge, edge, st.sampled_from(["A", "B_2"]))
    return st.lists(span, max_size=4).map(settle)


PARTS = ["<MASK>", "<MA", "SK>", "<A>", "<", ">", "a", "b ", " ", "\n", "é", "MAS"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=9).map("".join) | st.text(max_size=20)
MARKED = TEXTS.flatmap(lambda text: st.tuples(st.just(text), spans_in(text)))
REDACTIONS = st.builds(Redaction, style=STYLES, on_literal=st.just("escape"), across_spaces=st.booleans())


def masks_expected(text: str, secrets: tuple[Secret, ...], redaction: Redaction) -> int:
    """Runs that merge, counted in the plainest way."""
    count = 0
    last: Secret | None = None
    for secret in secrets:
        gap = text[last.end : secret.start] if last else ""
        blank = redaction.across_spaces and gap.isspace() and not set(gap) & LINE_ENDS
        same = last is not None and (redaction.style != "kind" or last.kind == secret.kind)
        count += not (same and (gap == "" or blank))
        last = secret
    return count


@quick
@given(MARKED, REDACTIONS)
def test_public_text_survives_in_order_and_secrets_become_masks(
    marked: tuple[str, tuple[Secret, ...]], redaction: Redaction
) -> None:
    text, secrets = marked
    text = text.replace("<", "(")  # literals have a test of their own
    redacted = redact(Record(id="1", text=text), secrets, redaction)
    masks = redacted.secrets
    assert masks is not None
    secret_at = {at for secret in secrets for at in range(secret.start, secret.end)}
    public = [character for at, character in enumerate(text) if at not in secret_at]
    mask_at = {at for mask in masks for at in range(mask.start, mask.end)}
    left = [character for at, character in enumerate(redacted.text) if at not in mask_at]
    # spaces between merged secrets go with them; nothing else does
    walk = iter(public)
    assert all(any(character == other for other in walk) for character in left)
    assert [c for c in left if not c.isspace()] == [c for c in public if not c.isspace()]
    if not redaction.across_spaces:
        assert left == public
    assert [redacted.text[mask.start : mask.end] for mask in masks] == [redaction.mark(mask.kind) for mask in masks]
    assert len(masks) == (0 if redaction.style == "remove" else masks_expected(text, secrets, redaction))


@quick
@given(MARKED, REDACTIONS)
def test_redacting_the_masks_again_changes_nothing(
    marked: tuple[str, tuple[Secret, ...]], redaction: Redaction
) -> None:
    once = redact(Record(id="1", text=marked[0]), marked[1], redaction)
    assert redact(once, once.secrets or (), redaction) == once


@quick
@given(MARKED, REDACTIONS, st.sampled_from(["<MASK>", "MAS", "<<M"]))
def test_after_escaping_every_mask_in_the_output_is_ours(
    marked: tuple[str, tuple[Secret, ...]], redaction: Redaction, mask: str
) -> None:
    assume(redaction.style != "remove")
    redaction = Redaction(style=redaction.style, mask=mask, on_literal="escape", across_spaces=redaction.across_spaces)
    redacted = redact(Record(id="1", text=marked[0]), marked[1], redaction)
    pattern = rf"(?={re.escape(mask)})" if redaction.style == "mask" else r"(?=<[A-Z][A-Z0-9_]*>)"
    there = [match.start() for match in re.finditer(pattern, redacted.text)]
    assert there == [secret.start for secret in redacted.secrets or ()]


@quick
@given(MARKED, REDACTIONS, st.integers(0, 30))
def test_turns_move_along_and_the_text_is_the_same_with_and_without_them(
    marked: tuple[str, tuple[Secret, ...]], redaction: Redaction, cut: int
) -> None:
    text, secrets = marked
    cut = min(cut, len(text))
    turns = (Turn("a", 0, cut), Turn("b", cut, len(text)))
    plain = redact(Record(id="1", text=text), secrets, redaction)
    dialog = redact(Record(id="1", text=text, turns=turns), secrets, redaction)
    assert (dialog.text, dialog.secrets) == (plain.text, plain.secrets)
    first, second = dialog.turns
    assert (first.start, second.end) == (0, len(dialog.text))
    assert first.end == second.start


ANN = Record(id="1", text="Call Ann Lee on 555-0101.")
FOUND = (Secret(5, 8, "PERSON"), Secret(9, 12, "PERSON"), Secret(16, 24, "PHONE"))


@pytest.mark.parametrize(
    ("redaction", "text"),
    [
        (Redaction(), "Call <MASK> on <MASK>."),
        (Redaction(mask="[hidden]"), "Call [hidden] on [hidden]."),
        (Redaction(style="kind"), "Call <PERSON> on <PHONE>."),
        (Redaction(style="remove"), "Call  on ."),
        (Redaction(across_spaces=False), "Call <MASK> <MASK> on <MASK>."),
    ],
)
def test_each_style(redaction: Redaction, text: str) -> None:
    assert redact(ANN, FOUND, redaction).text == text


def test_different_kinds_side_by_side_keep_both_marks_or_share_one_mask_named_by_the_longest() -> None:
    record, secrets = Record(id="1", text="Ann 5550101"), (Secret(0, 3, "PERSON"), Secret(4, 11, "PHONE"))
    assert redact(record, secrets, Redaction(style="kind")).text == "<PERSON> <PHONE>"
    assert redact(record, secrets).secrets == (Secret(0, 6, "PHONE"),)
    numbers = (Secret(0, 5, "A"), Secret(6, 8, "B"), Secret(9, 12, "C"))
    assert redact(Record(id="1", text="11111 22 333"), numbers).secrets == (Secret(0, 6, "A"),)


def test_a_line_end_keeps_masks_apart() -> None:
    assert redact(Record(id="1", text="12\n34"), (Secret(0, 2, "N"), Secret(3, 5, "N"))).text == "<MASK>\n<MASK>"


@pytest.mark.parametrize(
    ("kind", "mark"),
    [("PHONE", "<PHONE>"), ("e-mail address", "<E_MAIL_ADDRESS>"), ("2fa", "<KIND_2FA>"), ("名前", "<SECRET>")],
)
def test_marks_have_one_form_whatever_the_kind_is_called(kind: str, mark: str) -> None:
    assert Redaction(style="kind").mark(kind) == mark


def test_a_literal_mask_is_refused_with_its_place_or_escaped() -> None:
    record = Record(id="1", text="Type <MASK> 12 <MASK>", place="a.jsonl, line 7")
    with pytest.raises(RefusedError, match=r"a.jsonl, line 7, character 5: .*'escape'"):
        redact(record, (Secret(12, 14, "N"),))
    escaped = redact(record, (Secret(12, 14, "N"),), Redaction(on_literal="escape"))
    assert escaped.text == "Type < MASK> <MASK> < MASK>"
    assert escaped.secrets == (Secret(13, 19, "N"),)


def test_a_literal_mask_inside_a_secret_is_no_problem() -> None:
    assert redact(Record(id="1", text="a <MASK> b"), (Secret(0, 10, "N"),)).text == "<MASK>"


def test_any_mark_of_a_kind_is_a_literal_of_style_kind_only() -> None:
    record = Record(id="1", text="<PERSON> and <b>")
    assert redact(record, ()).text == record.text
    with pytest.raises(RefusedError):
        redact(record, (), Redaction(style="kind"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"style": "masks"},
        {"on_literal": "ignore"},
        {"mask": ""},
        {"mask": "MY MASK"},
        {"mask": "XXX"},
        {"mask": "abcab"},
        {"mask": "█", "on_literal": "escape"},
    ],
)
def test_settings_that_cannot_keep_the_promise_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        Redaction(**wrong)  # type: ignore[arg-type]


def test_spans_outside_the_text_or_overlapping_are_refused() -> None:
    for secrets in ((Secret(0, 99, "N"),), (Secret(0, 4, "N"), Secret(2, 6, "N"))):
        with pytest.raises(InputError):
            redact(ANN, secrets)


def test_the_pair_text_is_redacted_and_never_forgotten() -> None:
    record = Record(id="1", text="1 a", pair="b 2")
    with pytest.raises(RefusedError, match="pair text"):
        redact(record, (Secret(0, 1, "N"),))
    (redacted,) = redact_all([record], policy("digits"))
    assert (redacted.text, redacted.pair) == ("<MASK> a", "b <MASK>")
    assert redacted.pair_secrets == (Secret(2, 8, "NUMBER"),)


def test_a_stream_is_redacted_one_record_at_a_time_and_counted() -> None:
    read: list[str] = []

    def walk() -> Iterator[Record]:
        for text in ("1 and 2", "none", "3"):
            read.append(text)
            yield Record(id=text, text=text, author="ann", fields={"subject": "x"})

    tally = Tally()
    stream = redact_all(walk(), policy("digits"), tally=tally)
    assert next(stream).text == "<MASK> and <MASK>"
    assert read == ["1 and 2"]
    assert len(list(stream)) == 2
    assert (tally.records, tally.redacted, tally.secrets, tally.kinds) == (3, 2, 3, {"NUMBER": 3})
    assert tally.kept == {"author", "subject"}


def test_a_corpus_is_redacted_by_mapping() -> None:
    corpus = Corpus({"train": [Record(id="1", text="a 1")]})
    assert [record.text for record in corpus.map(redact_with(policy("digits"))).records("train")] == ["a <MASK>"]


def test_everything_else_of_the_record_is_kept() -> None:
    record = Record(id="7", text="1", author="a", label=2, split="test", fields={"x": 1}, place="here")
    kept = redact(record, (Secret(0, 1, "N"),))
    assert (kept.id, kept.author, kept.label, kept.split, kept.fields, kept.place) == (
        "7",
        "a",
        2,
        "test",
        {"x": 1},
        "here",
    )
