"""Confidentially redacted training: what is public, what is private, and what the paper's appendix warns of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engine.ledger import read_ledger
from discreet.engine.plain import update
from discreet.engine.private import PrivateStep
from discreet.errors import InputError, RefusedError, SettingError
from discreet.mechanisms import crt
from discreet.mechanisms.crt import CRTOptions, divided, points_of
from discreet.mechanisms.train import train
from discreet.policy.specs import Spec
from discreet.text.corpus import Corpus
from discreet.text.records import Record, Secret, Turn

MASK = "<MASK>"
CRT = {"name": "crt", "noise": 1.0, "batch": 20, "randomness": "fast", "public_vocabulary": True}


class Prepared(Exception):
    """Raised with what would have been trained on."""


@pytest.fixture
def prepared(monkeypatch, tmp_path, small):
    """The points that a corpus and settings lead to, without training on them."""

    def prepare(corpus: Corpus, policy: Spec = "gold", **changes: object) -> tuple[list[Record], list[Record]]:
        def stop(training, options):
            raise Prepared(divided(training, options))

        monkeypatch.setattr(crt, "divided", stop)
        with pytest.raises(Prepared) as caught:
            train(corpus, policy, {**CRT, **changes}, output=tmp_path / "run", overwrite=True, progress=False, **small)
        cleared, doubtful = caught.value.args[0]
        return cleared, doubtful

    return prepare


def corpus_of(*texts: str) -> Corpus:
    return Corpus({"train": [Record(str(n), text) for n, text in enumerate(texts)]}, "texts")


def texts(points: list[Record]) -> list[str]:
    return [point.text for point in points]


DIGITS = {"regex": {"pattern": r"\d+", "kind": "CODE"}}
DOUBT = {"regex": {"pattern": r"\d+|maybe", "kind": "DOUBT"}}


def test_only_points_that_both_policies_clear_are_public(prepared):
    corpus = corpus_of("Hello there. My code is 1234. It is maybe a name. All is well.")
    cleared, doubtful = prepared(corpus, DIGITS, conservative=DOUBT)
    assert texts(cleared) == ["Hello there.", "All is well."]
    assert texts(doubtful) == ["My code is <MASK>.", "It is maybe a name."]


def test_without_a_conservative_policy_nothing_is_public(prepared):
    cleared, doubtful = prepared(corpus_of("Hello there. All is well."), DIGITS)
    assert (cleared, len(doubtful)) == ([], 2)


def test_later_copies_become_the_same_mask_as_secrets_and_are_private(prepared):
    corpus = corpus_of("Hello there. My code is 1234.", "hello  THERE. Good bye.", "My code is 1234.")
    cleared, doubtful = prepared(corpus, DIGITS, conservative=DIGITS)
    assert texts(cleared) == ["Hello there.", "Good bye."]
    assert sorted(texts(doubtful)) == [MASK, MASK, "My code is <MASK>."]
    assert all(len(point.secrets or ()) == 1 for point in doubtful)
    kept, _ = prepared(corpus, DIGITS, conservative=DIGITS, dedup=False)
    assert len(kept) == 3


def test_a_point_that_is_nothing_but_a_mask_teaches_nothing(tmp_path, small, monkeypatch):
    """Not even to end: most private points are copies where text repeats itself."""
    made = []
    own = crt.encoded

    def kept(*given):
        made.append(own(*given))
        return made[-1]

    monkeypatch.setattr(crt, "encoded", kept)
    corpus = corpus_of(*["Hello there. All is well."] * 20, *[f"My code is {n}." for n in range(1000, 1030)])
    train(corpus, DIGITS, CRT | {"conservative": DIGITS}, output=tmp_path / "run", progress=False, **small)
    private = made[0]
    silent = [tokens for tokens in private if len(tokens.ids) == 3]  # begin, mask, end
    assert len(silent) == 38
    assert all(tokens.ignored[1:].all() for tokens in silent)
    assert not any(tokens.ignored[-1] for tokens in private if len(tokens.ids) > 3)


def test_copies_are_found_before_redaction_so_two_secrets_do_not_make_a_copy(prepared):
    """Splitting and deduplication go by the text itself; redacting first would make these two sentences one."""
    cleared, doubtful = prepared(corpus_of("My code is 1234.", "My code is 9876."), DIGITS, conservative=DIGITS)
    assert (cleared, texts(doubtful)) == ([], ["My code is <MASK>."] * 2)


def test_a_mask_in_the_text_is_refused_or_escaped(tmp_path, small):
    corpus = corpus_of(*[f"The {MASK} is here {n}." for n in range(30)])
    with pytest.raises(RefusedError, match="already holds"):
        train(corpus, DIGITS, CRT, output=tmp_path / "a", progress=False, **small)
    escape = small | {"redaction": {"on_literal": "escape"}}
    assert train(corpus, DIGITS, CRT, output=tmp_path / "b", progress=False, **escape).finished


def test_another_redaction_or_unit_is_refused(tmp_path, notes, small):
    with pytest.raises(SettingError, match="same mask"):
        train(notes, "gold", CRT, output=tmp_path / "a", progress=False, **small, redaction={"style": "kind"})
    with pytest.raises(SettingError, match="protects sentences"):
        train(notes, "gold", {**CRT, "unit": "author"}, output=tmp_path / "b", progress=False, **small)
    with pytest.raises(RefusedError, match="vocabulary"):
        train(notes, "gold", {**CRT, "public_vocabulary": False}, output=tmp_path / "c", progress=False, **small)
    with pytest.raises(InputError, match="no text"):
        train(Corpus({"train": []}, "none"), "gold", CRT, output=tmp_path / "d", progress=False, **small)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.text("ab .?!\n", max_size=60), st.sampled_from(["sentence", "turn", "record"]))
def test_points_hold_all_the_text_in_order(text, level):
    points = list(points_of(Record("1", text), level))
    assert "".join("".join(point.text.split()) for point in points) == "".join(text.split())
    assert all(point.text.strip() for point in points)


def test_a_dialogs_points_keep_who_speaks_and_the_marked_secrets():
    text = "SYS: Hello. Who are you?\nUSR: I am Ann."
    turns = (Turn("SYS", 5, 24), Turn("USR", 30, 39))
    record = Record("7", text, turns=turns, secrets=(Secret(35, 38, "PERSON"),))
    points = list(points_of(record, "sentence"))
    assert texts(points) == ["SYS: Hello.", "Who are you?", "USR: I am Ann."]
    assert [point.id for point in points] == ["7/0", "7/1", "7/2"]
    (secret,) = points[2].secrets or ()
    assert points[2].text[secret.start : secret.end] == "Ann"
    assert [point.secrets for point in points[:2]] == [(), ()]
    assert texts(list(points_of(record, "turn"))) == ["SYS: Hello. Who are you?", "USR: I am Ann."]


def test_public_and_private_points_never_share_a_batch_and_epochs_alternate(tmp_path, small, monkeypatch):
    """What each update reads, in the order of the updates."""
    words = [f"Public {chr(97 + n // 26)}{chr(97 + n % 26)} here." for n in range(40)]
    corpus = corpus_of(*(f"{word} Code {n + 1000} is it." for n, word in enumerate(words)))
    seen: list[tuple[str, int]] = []
    plain, private = update, PrivateStep.__call__

    def count(batch, kind):
        seen.append((kind, int((batch["targets"] >= 0).any(1).sum())))

    def watched_update(model, batch, *rest):
        count(batch, "public")
        return plain(model, batch, *rest)

    def watched_step(self, step, batches, **rest):
        batches = list(batches)
        seen.append(("private", sum(len(batch["targets"]) for batch in batches)))
        return private(self, step, batches, **rest)

    monkeypatch.setattr(crt, "update", watched_update)
    monkeypatch.setattr(PrivateStep, "__call__", watched_step)
    run = train(corpus, DIGITS, {**CRT, "conservative": DIGITS}, output=tmp_path / "r", progress=False, **small)
    kinds = "".join(kind[1] for kind, _ in seen)
    assert (
        kinds == ("u" * 5 + "r" * 2) * 2
    )  # forty public points in eights, forty private ones at twenty a step; two epochs
    assert sum(count for kind, count in seen[:5] if kind == "public") == 40
    (phase,) = read_ledger(run.path / "ledger.jsonl").values()
    assert (phase.plan.population, phase.plan.steps, phase.releases) == (40, 4, 4)


def test_the_guarantee_states_what_was_given_and_what_was_checked(tmp_path, notes, small):
    mechanism = {**CRT, "conservative": "gold", "missed": 3, "sample": 200, "group": 2}
    run = train(notes, "gold", mechanism, output=tmp_path / "run", progress=False, **small)
    subjects = " / ".join(bound.subject for bound in run.guarantee.bounds)
    assert "redaction masked" in subjects
    assert "drawn at random" in subjects
    assert "2 distinct sentences" in subjects
    status = {item.name: item.status for item in run.guarantee.assumptions}
    assert status["split"] == status["literal-mask"] == status["sentences"] == "checked by code"
    assert status["conservative"] == status["vocabulary"] == status["alone"] == "claimed by the user"


def test_options_are_checked():
    with pytest.raises(ValueError, match="either epsilon"):
        CRTOptions(name="crt")
    assert CRTOptions(name="crt", noise=1.0).points == "sentence"
    assert np.isclose(CRTOptions(name="crt", noise=1.0, miss=0.1).miss or 0, 0.1)
