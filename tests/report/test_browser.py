"""The report in a real browser: the table of runs sorts by a click, nothing is loaded and nothing goes wrong."""

from typing import Any

from tests.chromium import chromium

__all__ = ["chromium"]


def column(page: Any, number: int) -> list[float]:
    cells = page.locator(f"table.sorts tbody tr > *:nth-child({number})")
    return [float(order) for order in cells.evaluate_all("cells => cells.map(c => c.dataset.order)") if order]


def test_the_table_of_runs_sorts_up_and_down_by_a_click(chromium, html, tmp_path):
    (tmp_path / "report.html").write_text(html, encoding="utf-8")
    address = (tmp_path / "report.html").as_uri()
    page = chromium.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if request.url != address else None)
    page.goto(address)
    heads = page.locator("table.sorts thead th")
    numbers = [at for at in range(heads.count()) if "number" in (heads.nth(at).get_attribute("class") or "")]
    assert numbers
    for at in numbers[:2]:
        before = sorted(column(page, at + 1))
        heads.nth(at).get_by_role("button").click()
        assert heads.nth(at).get_attribute("aria-sort") == "ascending"
        assert column(page, at + 1) == before
        heads.nth(at).get_by_role("button").click()
        assert column(page, at + 1) == before[::-1]
    page.close()
    assert problems == []
