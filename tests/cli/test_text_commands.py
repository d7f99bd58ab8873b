"""`discreet detect`, `redact` and `measure`: what they print, write and exit with."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import discreet.cli.detect
import discreet.cli.measure
import discreet.cli.redact  # noqa: F401 (each registers its command)
from discreet.cli import app
from discreet.cli.detect import highlighted, marked
from discreet.errors import InputError, RefusedError, SettingError
from discreet.text.records import Secret

ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "text": "Ann called 555-0101",
        "subject": "Ann",
        "secrets": [{"start": 0, "end": 3, "kind": "PERSON"}, {"start": 11, "end": 19, "kind": "PHONE"}],
    },
    {"id": "b", "text": "Nothing here", "subject": "x", "secrets": []},
    {"id": "c", "text": "Bob has 12", "subject": "y", "secrets": [{"start": 8, "end": 10, "kind": "NUMBER"}]},
]


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def succeed(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_detect_marks_secrets_by_kind_where_there_is_no_terminal(mail: Path) -> None:
    result = succeed("detect", mail, "--policy", "gold")
    assert "[[PERSON:Ann]] called [[PHONE:555-0101]]" in result.stdout
    assert "records: 3  secrets: 3" in result.stderr


def test_detect_prints_one_json_document_a_record_with_offsets_only(mail: Path) -> None:
    documents = [json.loads(line) for line in succeed("detect", mail, "-p", "digits", "--json").stdout.splitlines()]
    assert [document["id"] for document in documents] == ["a", "b", "c"]
    assert documents[0]["secrets"] == [
        {"start": 11, "end": 14, "kind": "NUMBER", "score": 1.0},
        {"start": 15, "end": 19, "kind": "NUMBER", "score": 1.0},
    ]
    assert documents[1] == {"id": "b", "secrets": []}


def test_detect_shows_the_text_of_secrets_in_json_when_asked_and_stops_at_the_limit(mail: Path) -> None:
    output = succeed("detect", mail, "-p", "digits", "--json", "--show-secrets", "--limit", 1).stdout
    assert [secret["text"] for secret in json.loads(output)["secrets"]] == ["555", "0101"]


def test_detect_shows_the_secrets_of_a_pair_text_too(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"text": "a 1", "pair": "b 22"}\n')
    (document,) = [json.loads(succeed("detect", tmp_path / "pairs.jsonl", "-p", "digits", "--json").stdout)]
    assert [(s["start"], s["end"]) for s in document["pair_secrets"]] == [(2, 4)]
    assert "b [[NUMBER:22]]" in succeed("detect", tmp_path / "pairs.jsonl", "-p", "digits").stdout


def test_highlighting_colours_each_kind_and_no_text_can_command_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "Ann\x1b[2J 12\r"
    secrets = [Secret(0, 3, "PERSON"), Secret(8, 10, "NUMBER")]
    terminal = Console(force_terminal=True, color_system="standard", width=80)
    with terminal.capture() as captured:
        terminal.print(highlighted(text, secrets, ["PERSON", "NUMBER"]))
    shown = captured.get()
    assert "\x1b[1;7;32mAnn\x1b[0m" in shown
    assert "\x1b[1;7;36m12\x1b[0m" in shown
    assert "\x1b[2J" not in shown
    assert marked(text, secrets) == "[[PERSON:Ann]]␛[2J [[NUMBER:12]]␍"


def test_redact_writes_a_copy_with_the_other_fields_and_says_which_it_kept(mail: Path, tmp_path: Path) -> None:
    before = mail.read_bytes()
    clean = tmp_path / "clean.jsonl"
    result = succeed("redact", mail, "--policy", "gold", "-o", clean, "--json")
    summary = json.loads(result.stdout)
    kinds = {"PERSON": 1, "PHONE": 1, "NUMBER": 1}
    counts = {"records": 3, "redacted": 2, "secrets": 3, "skipped": 0, "kinds": kinds}
    assert summary == {**counts, "path": str(clean)}
    assert "not redacted: subject" in result.stderr
    assert [row["text"] for row in rows(clean)] == ["<MASK> called <MASK>", "Nothing here", "Bob has <MASK>"]
    assert [row["subject"] for row in rows(clean)] == ["Ann", "x", "y"]
    assert mail.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--style", "kind"], "<PERSON> called <PHONE>"),
        (["--style", "remove"], " called "),
        (["--mask", "[gone]"], "[gone] called [gone]"),
    ],
)
def test_redact_takes_a_style(mail: Path, tmp_path: Path, options: list[str], text: str) -> None:
    succeed("redact", mail, "-p", "gold", "-o", tmp_path / "clean.jsonl", *options)
    assert rows(tmp_path / "clean.jsonl")[0]["text"] == text


def test_redact_on_several_cores_writes_the_same_file(mail: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for path, workers in ((one, 1), (two, 2)):
        succeed("redact", mail, "--policy", "pii", "-o", path, "--workers", workers)
    assert "555" not in one.read_text()
    assert one.read_text() == two.read_text()


def test_redacting_the_output_by_its_own_marks_changes_nothing(tmp_path: Path) -> None:
    mail = tmp_path / "unmarked.jsonl"
    mail.write_text("".join(json.dumps({"id": row["id"], "text": row["text"]}) + "\n" for row in ROWS))
    once, twice = tmp_path / "once.jsonl", tmp_path / "twice.jsonl"
    succeed("redact", mail, "-p", "digits", "-o", once)
    succeed("redact", once, "-p", "gold", "-o", twice)
    assert rows(twice) == rows(once)


def test_a_literal_mask_stops_before_any_output_or_is_escaped(tmp_path: Path) -> None:
    (tmp_path / "mail.jsonl").write_text('{"text": "1"}\n{"text": "say <MASK>"}\n')
    result = run("redact", tmp_path / "mail.jsonl", "-p", "digits", "-o", tmp_path / "clean.jsonl")
    assert isinstance(result.exception, RefusedError)
    assert "mail.jsonl, line 2, character 4" in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mail.jsonl"]
    succeed("redact", tmp_path / "mail.jsonl", "-p", "digits", "-o", tmp_path / "clean.jsonl", "--on-literal", "escape")
    assert [row["text"] for row in rows(tmp_path / "clean.jsonl")] == ["<MASK>", "say < MASK>"]


def test_bad_rows_stop_or_are_skipped_and_counted(mail: Path, tmp_path: Path) -> None:
    with mail.open("a") as out:
        out.write("{not json\n")
    clean = tmp_path / "clean.jsonl"
    assert isinstance(run("redact", mail, "-p", "digits", "-o", clean).exception, InputError)
    assert not clean.exists()
    summary = json.loads(succeed("redact", mail, "-p", "digits", "-o", clean, "--on-bad", "skip", "--json").stdout)
    assert (summary["records"], summary["skipped"]) == (3, 1)
    assert "bad rows skipped: 1" in succeed("redact", mail, "-p", "digits", "-o", clean, "--on-bad", "skip").stdout
    assert json.loads(succeed("measure", mail, "-p", "digits", "--on-bad", "skip", "--json").stdout)["skipped"] == 1
    assert "Bad rows skipped: 1" in succeed("detect", mail, "-p", "digits", "--on-bad", "skip").stderr


def test_the_secrets_of_dialogs_go_from_their_turns_too(tmp_path: Path) -> None:
    dialog = {"id": "d", "turns": [{"speaker": "A", "text": "id 4711?"}, {"speaker": "B", "text": "no, 4712"}]}
    (tmp_path / "dialogs.jsonl").write_text(json.dumps(dialog) + "\n")
    succeed("redact", tmp_path / "dialogs.jsonl", "-p", "digits", "-o", tmp_path / "clean.jsonl")
    written = (tmp_path / "clean.jsonl").read_text()
    assert "471" not in written
    assert [turn["text"] for turn in json.loads(written)["turns"]] == ["id <MASK>?", "no, <MASK>"]


def test_text_fields_can_be_named_and_text_files_redacted(tmp_path: Path) -> None:
    (tmp_path / "mail.csv").write_text("nr,body\n1,call 12\n")
    succeed("redact", tmp_path / "mail.csv", "-p", "digits", "-o", tmp_path / "out.csv", "--text-field", "body")
    assert "call <MASK>" in (tmp_path / "out.csv").read_text()
    (tmp_path / "mail.txt").write_bytes("é 1\n\né 2\n".encode("latin-1"))
    options = ["--records", "paragraph", "--encoding", "latin-1"]
    succeed("redact", tmp_path / "mail.txt", "-p", "digits", "-o", tmp_path / "out.txt", *options)
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").split() == ["é", "<MASK>", "é", "<MASK>"]


def test_measure_gives_the_keys_of_the_contract(mail: Path) -> None:
    document = json.loads(succeed("measure", mail, "--policy", "digits", "--json").stdout)
    wanted = {"records", "precision", "recall", "f1", "recall_interval", "token_share", "by_kind"}
    assert wanted <= set(document)
    assert (document["records"], document["precision"], document["recall"]) == (3, 1.0, 1 / 3)
    assert document["by_kind"]["NUMBER"]["recall"] == 1.0
    assert "misses" not in document


def test_measure_prints_a_table_and_misses_only_when_asked(mail: Path) -> None:
    plain = succeed("measure", mail, "-p", "digits").stdout
    assert "33.33%" in plain
    assert "PERSON" in plain
    assert plain.count("  of characters ") == 4  # two kinds that are marked and found in part, and one that is named
    assert "Ann" not in plain
    assert "PERSON 'Ann'" in succeed("measure", mail, "-p", "digits", "--show-secrets").stdout


def test_measure_without_marks_is_a_mistake_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "mail.jsonl").write_text('{"text": "1"}\n')
    result = run("measure", tmp_path / "mail.jsonl", "-p", "digits")
    assert isinstance(result.exception, InputError)
    assert "mail.jsonl, line 1" in str(result.exception)


@pytest.mark.parametrize("options", [["--style", "masks"], ["--mask", "a b"], ["--on-literal", "x"], ["-p", "digit"]])
def test_settings_that_make_no_sense_are_refused_before_anything_is_written(
    mail: Path, tmp_path: Path, options: list[str]
) -> None:
    result = run("redact", mail, "-p", "digits", "-o", tmp_path / "clean.jsonl", *options)
    assert isinstance(result.exception, SettingError)
    assert not (tmp_path / "clean.jsonl").exists()


def test_the_installed_command_exits_with_0_1_and_2(mail: Path, tmp_path: Path) -> None:
    def exit_code(*words: object) -> tuple[int, str, str]:
        command = [sys.executable, "-c", "from discreet.cli import main; main()", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    code, stdout, _ = exit_code("redact", mail, "-p", "digits", "-o", tmp_path / "clean.jsonl", "--json")
    assert (code, json.loads(stdout)["secrets"]) == (0, 3)
    code, stdout, stderr = exit_code("redact", mail, "-p", "digit", "-o", tmp_path / "clean.jsonl")
    assert (code, stdout) == (1, "")
    assert "did you mean 'digits'?" in stderr
    assert exit_code("redact", mail)[0] == 2
