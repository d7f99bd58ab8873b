"""How good a model is: perplexity over all, public and secret tokens."""

from discreet.callable_module import make_callable

make_callable(__name__, "discreet.evaluate.perplexity")
