"""Repeated ids are found, whatever their number."""

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.text.identity import SeenIds


@given(st.lists(st.text(max_size=3)), st.integers(1, 5))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_an_id_is_new_exactly_once(ids, recent):
    seen, exact = SeenIds(recent), set()
    for id in ids:
        assert seen.first_time(id) is (id not in exact)
        exact.add(id)


def test_ids_put_away_long_ago_are_still_known():
    seen = SeenIds(recent=64)
    ids = [f"mail-{number}" for number in range(5000)]
    # 5,000 different ids collide in 64 bits with odds below 1e-12
    assert all(seen.first_time(id) for id in ids)
    assert not any(seen.first_time(id) for id in ids)


def test_old_ids_lie_in_few_sorted_arrays():
    seen = SeenIds(recent=16)
    for number in range(10_000):
        seen.first_time(f"mail-{number}")
    assert len(seen._runs) <= 10
    assert sum(map(len, seen._runs)) + len(seen._recent) == 10_000
    assert len(seen._recent) < 16
