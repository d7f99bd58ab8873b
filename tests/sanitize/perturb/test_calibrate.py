"""Calibration: more epsilon, more words unchanged; and only public words are looked at."""

import pytest

from discreet.errors import SettingError
from discreet.sanitize.perturb.calibrate import calibrate, plot

pytest.importorskip("faiss", reason="needs the extra perturb")


def test_more_epsilon_leaves_more_words_and_moves_the_others_less(small):
    rows = calibrate(small, [0.1, 1.0, 10.0, 1000.0], words=15, draws=60, examples=["Ann"])
    unchanged = [row.unchanged for row in rows]
    assert unchanged == sorted(unchanged)
    assert unchanged[0] < 0.3
    assert rows[-1].unchanged == 1.0
    assert (rows[-1].distance, rows[-1].candidates) == (0.0, 1.0)
    distances = [row.distance for row in rows]
    assert distances == sorted(distances, reverse=True)
    assert rows[1].radius == pytest.approx(6.0)
    assert rows[-1].examples[0].word == "ann"
    assert rows[-1].examples[0].becomes == (("ann", 1.0),)
    assert rows[0].examples[0].different > 3
    assert rows[0].to_json()["examples"][0]["becomes"]


def test_the_plot_is_written(small, tmp_path):
    plot(calibrate(small, [0.5, 5.0], words=5, draws=3), str(tmp_path / "table.svg"))
    assert "<svg" in (tmp_path / "table.svg").read_text()


def test_what_cannot_be_calibrated_is_refused(small):
    with pytest.raises(SettingError):
        calibrate(small, [0.0])
    with pytest.raises(SettingError, match="not in the vocabulary"):
        calibrate(small, [1.0], examples=["zorro"])
