"""`discreet canaries`: a corpus with canaries in it, and a manifest that says which."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from discreet.cli import app, load_commands
from discreet.errors import SettingError
from discreet.sanitize.canaries.manifest import Manifest
from discreet.text.reading import open_records


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.jsonl"
    rows = [{"id": f"m{n}", "text": f"text {n}", "author": f"a{n % 3}"} for n in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(*words: object) -> Result:
    load_commands()
    return CliRunner().invoke(app, [str(word) for word in words])


def test_canaries_are_where_the_manifest_says(mail: Path, tmp_path: Path) -> None:
    out, listed = tmp_path / "out.jsonl", tmp_path / "canaries.json"
    result = run("canaries", mail, "-o", out, "--manifest", listed, "-n", 3, "--repetitions", "1-2,4", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["copies"] == 7
    manifest = Manifest.read(listed)
    records = list(open_records(out))
    assert [canary.repetitions for canary in manifest.canaries] == [1, 2, 4]
    for canary in manifest.canaries:
        for place in canary.places:
            assert records[place.position].id == place.id
            assert records[place.position].text == f"My ID is {canary.secret[0]}."
    assert len(records) == manifest.records == 37


def test_worlds_authors_words_and_given_secrets(mail: Path, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("red green blue ink\n")
    options = ["--template", "{words:3}", "--words", tmp_path / "words.txt", "--per-author", "-n", 2]
    options += ["--world", "secret-or-mask", "--repetitions", "2", "--placement", "random", "--seed", 3]
    result = run("canaries", mail, "-o", tmp_path / "o.jsonl", "--manifest", tmp_path / "m.json", *options)
    assert result.exit_code == 0, result.output
    manifest = Manifest.read(tmp_path / "m.json")
    assert [canary.author for canary in manifest.canaries] == ["a0", "a0", "a1", "a1", "a2", "a2"]
    assert {canary.inserted == ("<MASK>",) for canary in manifest.canaries if canary.coin is False} <= {True}
    assert "space of 64 (6.00 bits)" in result.stdout
    run("canaries", mail, "-o", tmp_path / "p.jsonl", "--manifest", tmp_path / "n.json", "--secret", "145572")
    assert Manifest.read(tmp_path / "n.json").canaries[0].secret == ("145572",)


@pytest.mark.parametrize(
    "options",
    [
        ["--template", "nothing"],
        ["--repetitions", "x"],
        ["--world", "half"],
        ["--template", "{a|b}{c|d}", "--secret", "a"],
    ],
)
def test_settings_that_make_no_sense_are_refused_before_anything_is_written(
    mail: Path, tmp_path: Path, options: list[str]
) -> None:
    result = run("canaries", mail, "-o", tmp_path / "o.jsonl", "--manifest", tmp_path / "m.json", *options)
    assert isinstance(result.exception, SettingError)
    assert not (tmp_path / "o.jsonl").exists()
    assert not (tmp_path / "m.json").exists()


def test_plain_text_is_refused_because_it_keeps_no_ids(mail: Path, tmp_path: Path) -> None:
    result = run("canaries", mail, "-o", tmp_path / "o.txt", "--manifest", tmp_path / "m.json")
    assert isinstance(result.exception, SettingError)
