"""The demo: dialogs, five runs and one comparison, from one command."""

import json

from tests.cli.test_frame import discreet


def test_the_demo_trains_five_ways_and_compares_them(tmp_path):
    small = ["--set", "training.epochs=1", "--set", "model.hidden=24", "--set", "model.embedding=24"]
    done = discreet("demo", "-n", 120, "-o", "demo", "--json", *small, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["mechanism"] for row in rows] == ["none", "dp-sgd", "selective", "jft", "crt"]
    assert [row["epsilon"] is None for row in rows] == [True, False, False, False, False]
    assert all(row["epsilon"] <= 4.9 for row in rows[1:])
    assert all(row["perplexity_public"] > 1 and row["perplexity_secret"] > 1 for row in rows)
    assert all((tmp_path / row["run"] / "model" / "model.safetensors").is_file() for row in rows)
    assert "[[PERSON:" in done.stderr
