"""Ray: the output of the local engine row for row, also when a worker is killed; refusals come back as themselves."""

import json
import os
import signal
import sys

import numpy as np
import pytest

from discreet.errors import InputError, MissingPackageError, RefusedError, SettingError
from discreet.policy.specs import policy
from discreet.sanitize.cluster import dedup as cluster_dedup
from discreet.sanitize.cluster import shards as cutting
from discreet.sanitize.cluster.engine import connect
from discreet.sanitize.cluster.rows import detect_file, perturb_file, redact_file
from discreet.sanitize.dedup.run import Dedup, Tally, dedup_all
from discreet.sanitize.perturb.embedding import load_embedding
from discreet.sanitize.perturb.run import Perturbation, Perturber, perturb_all
from discreet.sanitize.redact import Redaction, redact_all
from discreet.sanitize.redact import Tally as RedactTally
from discreet.text.reading import open_records
from discreet.text.writing import write

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own, about its future


def test_a_missing_ray_is_a_sentence_that_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingPackageError, match=r"discreet\[ray\]"), connect():
        pass


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray", reason="needs the extra ray")
    with connect(cores=2, on_progress=lambda done, total: TOLD.append((done, total))) as found:
        yield found


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(cutting, "SMALLEST", 12_000)
    monkeypatch.setattr(cutting, "EACH", 2)


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    path = tmp_path_factory.mktemp("mail") / "mail.jsonl"
    draw = np.random.Generator(np.random.PCG64(1))
    with path.open("w") as out:
        for number in range(300):
            words = " ".join(f"w{n}" for n in draw.integers(0, 6, 8))
            code, name = draw.integers(10, 60), ["ann", "Bob", "zorro"][number % 3]
            text = f"Dear {name}. Your code is {code}. It goes {words}. Thank you very much for calling."
            row = {
                "id": f"m{number}",
                "text": text,
                "topic": number % 4,
                "split": "test" if number % 50 == 0 else "train",
            }
            out.write(json.dumps(row) + "\n")
    return path


TOLD: list[tuple[int, int]] = []
NAMES = r"regex:(?i)\bann\b|\bbob\b|\bzorro\b|\d+"


def test_redaction_is_that_of_the_local_engine(cluster, mail, tmp_path):
    tally = RedactTally()
    records = open_records(mail)
    write(tmp_path / "local.jsonl", redact_all(records, policy("digits"), Redaction(), tally), like=records)
    TOLD.clear()
    found, skipped = redact_file(cluster, records, tmp_path / "ray.jsonl", policy("digits"), Redaction())
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert (found, skipped) == (tally, 0)
    assert TOLD[-1] == (len(TOLD), len(TOLD))
    assert len(TOLD) > 2


@pytest.mark.parametrize(
    "settings",
    [
        Dedup(copies="mask"),
        Dedup(method="near", threshold=0.5, shingle="words:2"),
    ],
    ids=["exact", "near"],
)
def test_deduplication_is_that_of_the_local_engine(cluster, mail, tmp_path, settings):
    tally = Tally()
    records = open_records(mail)
    write(tmp_path / "local.jsonl", dedup_all(records, settings, tally, policy(NAMES)), like=records)
    assert tally.copies > 100
    found, _ = cluster_dedup.dedup_file(cluster, records, tmp_path / "ray.jsonl", settings, policy(NAMES))
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    for name in ("records", "parts", "copies", "changed", "dropped"):
        assert getattr(found, name) == getattr(tally, name)
    assert found.secrets.summary() == tally.secrets.summary()


@pytest.mark.parametrize("changes", [{}, {"form": "mdp"}], ids=["smdp", "mdp"])
def test_perturbation_is_that_of_the_local_engine(cluster, mail, tmp_path, changes):
    lines = [f"{word} {n % 3} {n % 5}\n" for n, word in enumerate(["ann", "bob", "code", "12", "30", "is", "w1", "w2"])]
    (tmp_path / "words.txt").write_text("".join(lines))
    settings = Perturbation(epsilon=1.0, seed=4, **changes)
    records = open_records(mail)
    perturber = Perturber(load_embedding(tmp_path / "words.txt"), settings)
    write(tmp_path / "local.jsonl", perturb_all(records, policy(NAMES), perturber), like=records)
    tally, _ = perturb_file(
        cluster, records, tmp_path / "ray.jsonl", settings, str(tmp_path / "words.txt"), policy(NAMES)
    )
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert tally.records == 300


def test_secrets_are_found_in_order(cluster, mail):
    records = open_records(mail)
    skipped: list[int] = []
    found = [(r.id, secrets) for r, secrets, _ in detect_file(cluster, records, policy("digits"), skipped)]
    assert found == [(r.id, secrets) for r, secrets in policy("digits").secrets_of_all(records)]
    assert sum(skipped) == 0


def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    def work(number):
        marker = tmp_path / f"killed-{number}"
        if number % 4 == 1 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    assert list(cluster.map(range(6), work)) == [number * number for number in range(6)]
    assert len(list(tmp_path.iterdir())) == 2


def test_refusals_come_back_as_themselves_and_leave_no_output(cluster, tmp_path):
    path = tmp_path / "mail.jsonl"
    path.write_text("".join('{"text": "call 12"}\n' for _ in range(200)) + '{"text": "say <MASK>"}\nnonsense\n')
    with pytest.raises(RefusedError, match=r"mail\.jsonl, line 201"):
        redact_file(cluster, open_records(path, on_bad="skip"), tmp_path / "out.jsonl", policy("digits"), Redaction())
    with pytest.raises(InputError, match=r"mail\.jsonl, line 202"):
        cluster_dedup.dedup_file(cluster, open_records(path), tmp_path / "out.jsonl", Dedup(), None)
    with pytest.raises(SettingError, match="Bloom"):
        cluster_dedup.dedup_file(cluster, open_records(path), tmp_path / "out.jsonl", Dedup(method="bloom"), None)
    assert [p.name for p in tmp_path.iterdir()] == ["mail.jsonl"]


def test_ids_that_repeat_in_different_shards_are_noticed(cluster, tmp_path):
    path = tmp_path / "mail.jsonl"
    rows = [{"id": "same" if number in (0, 299) else f"m{number}", "text": "nothing"} for number in range(300)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="same id"):
        redact_file(cluster, open_records(path), tmp_path / "out.jsonl", policy("digits"), Redaction())


def test_other_formats_are_written_as_the_local_engine_writes_them(cluster, mail, tmp_path):
    records = open_records(mail)
    write(tmp_path / "mail.parquet", records)
    table = open_records(tmp_path / "mail.parquet")
    write(tmp_path / "local.parquet", redact_all(table, policy("digits")), like=table)
    redact_file(cluster, table, tmp_path / "ray.parquet", policy("digits"), Redaction())
    local, ray = (open_records(tmp_path / f"{name}.parquet") for name in ("local", "ray"))
    assert [(r.id, r.text, r.secrets, dict(r.fields)) for r in ray] == [
        (r.id, r.text, r.secrets, dict(r.fields)) for r in local
    ]
