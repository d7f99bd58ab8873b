"""What a layer rule is, and how a new one is added: one file in `discreet.engine.layers` with one registration.

    @LAYERS.register("linear")
    class LinearRule(OutputRule):
        def matches(self, module): return computes_as(module, nn.Linear)
        def keep(self, module, inputs, listener): return inputs          # what the gradient needs besides g
        def pieces(self, module, kept, grad): yield module.weight, Outer(grad, kept[0])

A rule is a claim about a module's gradient. `trial` holds every claim against autograd on the model at hand, so a
subclass that computes something else is found out rather than believed.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from torch import Tensor, nn

from discreet.engine.clipping.pieces import Piece
from discreet.registry import Registry

Place = nn.Module | Tensor
"""Where a parameter is used: a layer, or the parameter itself where a function takes it directly."""

Report = Callable[[tuple[Tensor, ...], Tensor], Iterable[tuple[Tensor, Piece]]]
"""From the kept tensors and the output's gradient, all [records, ...], to the pieces of the parameters used."""


class NoRule(Exception):
    """The rules do not cover this model, or what it did in this pass; the message says why, without a full stop."""


class Listener(ABC):
    """What layers talk to during a private pass."""

    trained: Mapping[Tensor, str]

    def trains(self, parameter: Tensor | None) -> bool:
        """Whether a gradient is wanted for this parameter."""
        return isinstance(parameter, nn.Parameter) and parameter in self.trained

    @abstractmethod
    def watch(self, place: Place, kept: tuple[Tensor, ...], output: Tensor, report: Report) -> Tensor:
        """Passes the output on and, when its gradient is known, calls `report` with the kept tensors and it."""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within, functions that take parameters directly (the output layer) find this listener."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Listener | None] = ContextVar("listener", default=None)


def current_listener() -> Listener | None:
    """The listener of the private pass that is going on, if one is."""
    return _current.get()


class LayerRule(Protocol):
    """How the gradients of one kind of layer are found."""

    def matches(self, module: nn.Module) -> bool:
        """Whether the rule is about this module."""

    def attach(self, module: nn.Module, listener: Listener) -> Callable[[], None]:
        """Makes the module report its uses to the listener until the returned function is called."""


class OutputRule(ABC):
    """A rule for layers with one input and one output, whose gradient follows from the two."""

    @abstractmethod
    def matches(self, module: Any) -> bool: ...

    @abstractmethod
    def keep(self, module: Any, given: Tensor, listener: Listener) -> tuple[Tensor, ...]:
        """What the gradient needs besides g, given the layer's input."""

    @abstractmethod
    def pieces(self, module: Any, kept: tuple[Tensor, ...], grad: Tensor) -> Iterable[tuple[Tensor, Piece]]:
        """The pieces of the module's parameters; those of frozen ones are ignored."""

    def attach(self, module: nn.Module, listener: Listener) -> Callable[[], None]:
        def hook(_: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any], output: Tensor) -> Tensor:
            given = args[0] if args else next(iter(keywords.values()))
            kept = self.keep(module, given, listener)
            return listener.watch(module, kept, output, lambda own, grad: self.pieces(module, own, grad))

        return module.register_forward_hook(hook, with_kwargs=True).remove


LAYERS: Registry[type[LayerRule]] = Registry("layer", "discreet.layers", "discreet.engine.layers")


def computes_as(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Whether the module is of this kind and its forward has not been replaced."""
    return isinstance(module, kind) and type(module).forward is kind.forward and "forward" not in vars(module)


def rows(tensor: Tensor) -> Tensor:
    """[records, ..., width] as [records, rows, width]."""
    return tensor.unsqueeze(1) if tensor.dim() == 2 else tensor.flatten(1, -2)
