"""Keeps transformers' own progress bars and notices off the terminal."""

from typing import Any


class quiet_transformers:
    def __enter__(self) -> None:
        from transformers.utils import logging

        self._bars, self._level = logging.is_progress_bar_enabled(), logging.get_verbosity()
        logging.disable_progress_bar()
        logging.set_verbosity_error()

    def __exit__(self, *_: Any) -> None:
        from transformers.utils import logging

        logging.set_verbosity(self._level)
        if self._bars:
            logging.enable_progress_bar()
