"""JFT's four detectors give the examples of the paper's Table 1, batched as well as one by one."""

import pytest

from discreet.errors import MissingPackageError, SettingError
from discreet.policy import language
from discreet.policy.language import chosen_model, documents, installed_model, load, remembered
from discreet.policy.specs import policy
from discreet.sanitize.redact import Redaction, redact
from discreet.text.records import Record

pytest.importorskip("spacy", reason="needs spaCy")
if installed_model() is None:
    pytest.skip("needs a spaCy model", allow_module_level=True)

CUSTODY = "What are you going to do about the custody of the kids?"
DIVORCED = "Did you hear Alice is getting divorced?"


def redacted(name: str, text: str) -> str:
    record = Record(id="1", text=text)
    style = Redaction(style="kind", across_spaces=False)
    return redact(record, policy(name).secrets(record), style).text


@pytest.mark.parametrize(
    ("name", "custody", "divorced"),
    [
        ("entity-low", CUSTODY, "Did you hear <PERSON> is getting divorced?"),
        ("entity-high", CUSTODY, "Did you hear <PERSON> is getting divorced?"),
        (
            "contextual-low",
            "<PRON> are <PRON> going to do about the <OBJ> of the <OBJ>?",
            "Did <PRON> hear <PROPN> is getting divorced?",
        ),
        (
            "contextual-high",
            "<PRON> are <PRON> <VERB> to <VERB> about the <OBJ> of the <OBJ>?",
            "Did <PRON> <VERB> <PROPN> is <VERB> <VERB>?",
        ),
    ],
)
def test_table_1_of_the_paper(name: str, custody: str, divorced: str) -> None:
    """As printed there, but for the article before `custody` and, in the last row, `getting`, which it leaves in."""
    assert redacted(name, CUSTODY) == custody
    assert redacted(name, DIVORCED) == divorced


def test_low_entities_are_fewer_than_high_ones() -> None:
    record = Record(id="1", text="Ann paid 300 dollars to Acme Corporation on Friday in the second week.")
    kinds = {name: {s.kind for s in policy(name).secrets(record)} for name in ("entity-low", "entity-high")}
    assert kinds["entity-low"] < kinds["entity-high"]
    assert "MONEY" in kinds["entity-high"] - kinds["entity-low"]


def test_a_stream_gives_what_single_records_give() -> None:
    texts = [DIVORCED, "Bob moved to Oslo.", DIVORCED, "", "In 1999, Ann Lee sold it. " * 5, CUSTODY]
    records = [Record(id=str(number), text=text) for number, text in enumerate(texts)]
    for name in ("entity-low", "contextual-low"):
        made = policy(name)
        assert list(made.secrets_of_all(records)) == [(record, made.secrets(record)) for record in records]


def test_only_what_is_needed_is_loaded_and_the_model_is_named() -> None:
    made = policy("entity-low")
    assert made.spec() == {"entity-low": {"model": installed_model()}}
    assert {"parser", "lemmatizer"}.isdisjoint(load(installed_model() or "", ("ner",)).pipe_names)


def test_a_missing_or_other_model_is_refused_with_the_command_that_installs_it(monkeypatch) -> None:
    with pytest.raises(MissingPackageError, match="python -m spacy download en_core_web_lg"):
        policy({"entity-low": {"model": "en_core_web_lg"}})
    name = (installed_model() or "").partition(" ")[0]
    with pytest.raises(SettingError, match=r"version 0\.1"):
        chosen_model(f"{name} 0.1")
    monkeypatch.setattr(language, "installed_model", lambda: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'discreet\[spacy\]'"):
        chosen_model(None)


def test_texts_that_come_again_are_not_read_again() -> None:
    read: list[str] = []

    def lengths(texts: list[str]) -> list[int]:
        read.extend(texts)
        return [len(text) for text in texts]

    texts = ["a", "bb", "a"] * 500 + ["ccc"]
    assert list(remembered(texts, lengths)) == [len(text) for text in texts]
    assert sorted(read) == ["a", "bb", "ccc"]


def test_labels_are_those_of_the_model_as_it_comes() -> None:
    import spacy

    model = installed_model() or ""
    whole = spacy.load(model.partition(" ")[0])
    texts = [
        CUSTODY,
        DIVORCED,
        "Bob Stone paid 300 dollars to Acme in Oslo, which she had not expected on Friday. " * 4,
    ]

    def labels(doc):
        return [(token.idx, token.pos_, token.dep_) for token in doc], [(e.start, e.end, e.label_) for e in doc.ents]

    assert [labels(doc) for doc in documents(load(model, ("ner", "parse")), texts)] == [labels(whole(t)) for t in texts]


def test_documents_come_back_in_order() -> None:
    nlp = load(installed_model() or "", ("ner",))
    texts = ["a b c d", "", "a b", "a"]
    assert [doc.text for doc in documents(nlp, texts)] == texts
