"""A person checks what a policy missed: a random sample of records, a page in the browser, a miss rate with intervals.

    discreet screen mail.jsonl --policy pii --sample 200

`open_screening` draws the sample (or goes on with one), `serve` shows the page, `write_results` ends it. What comes out
is the screened subset and the miss rate, both in the form that the mechanism `jft` takes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.screen.result import Result as Result
    from discreet.screen.result import result_of as result_of
    from discreet.screen.result import write_results as write_results
    from discreet.screen.screening import Screening as Screening
    from discreet.screen.screening import open_screening as open_screening
    from discreet.screen.serving import serve as serve

# On first use, so that the work file can be opened without loading scipy.
_HOMES = {
    "Result": "result",
    "Screening": "screening",
    "open_screening": "screening",
    "result_of": "result",
    "serve": "serving",
    "write_results": "result",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet.screen' has no attribute '{name}'")
    return getattr(import_module(f"discreet.screen.{_HOMES[name]}"), name)
