"""Attacks on checkpoints: one row a step, also while the run is still at work."""

import json

import pytest

from discreet.attacks.over_time import attack_checkpoint
from discreet.attacks.timeline import FILE, Point, add_point, read_timeline
from discreet.errors import InputError, RunError
from discreet.files import write_json
from discreet.models.language import load_model
from discreet.text.corpus import Corpus
from tests.attacks.conftest import door_manifest, note, planted
from tests.evaluate.small_run import untrained_run


@pytest.fixture(scope="module")
def world():
    manifest = door_manifest(number=3, copies=2)
    canaries = [planted(canary, copy) for canary in manifest.canaries for copy in range(2)]
    notes = Corpus(
        {"train": [note(n) for n in range(12)] + canaries, "test": [note(n) for n in range(50, 62)]}, "notes"
    )
    return notes, manifest


def test_each_checkpoint_is_a_row_and_a_step_is_not_repeated(world, tmp_path):
    corpus, manifest = world
    run = untrained_run(tmp_path / "run", corpus)
    write_json(run.path / "manifest.json", run.manifest | {"finished": False})
    model = load_model(run.model_folder).train()
    first = attack_checkpoint(run, model, step=20, epoch=2, canaries=manifest, data=corpus, records=10)
    assert first.exposure is not None
    assert 0 <= first.exposure <= 9.97
    assert first.membership_auc is not None
    assert 0 <= first.membership_auc <= 1
    assert model.training
    attack_checkpoint(run, model, step=10, epoch=1, data=corpus, records=10)
    again = attack_checkpoint(run, model, step=20, epoch=2, canaries=manifest, records=10, samples=200)
    rows = [json.loads(line) for line in (run.path / FILE).read_text().splitlines()]
    assert [(row["step"], row["exposure"] is None) for row in rows] == [(10, True), (20, False)]
    assert read_timeline(run.path)[1] == again
    assert again.membership_auc is None
    assert set(rows[0]) == {"step", "epoch", "exposure", "membership_auc"}


def test_a_checkpoint_without_canaries_and_corpus_cannot_be_attacked(world, tmp_path):
    run = untrained_run(tmp_path / "run", world[0])
    with pytest.raises(InputError, match="canaries or with the corpus"):
        attack_checkpoint(run, load_model(run.model_folder), step=1)


def test_rows_are_read_in_order_and_a_broken_file_is_refused(tmp_path):
    assert read_timeline(tmp_path) == []
    for step in (30, 10, 20):
        add_point(tmp_path, Point(step, None, 1.0, None))
    assert [point.step for point in read_timeline(tmp_path)] == [10, 20, 30]
    (tmp_path / FILE).write_text('{"step": 1}\n')
    with pytest.raises(RunError, match=FILE):
        read_timeline(tmp_path)
