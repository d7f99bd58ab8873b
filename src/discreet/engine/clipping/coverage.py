"""Which rule watches which module of a model, and which trainable parameters no rule speaks for."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn

from discreet.engine.clipping.contract import LAYERS, LayerRule, Listener, Place
from discreet.engine.layers.any_module import AnyModuleRule
from discreet.errors import RefusedError


class Coverage:
    """The rules for the layers of a model that have trainable parameters."""

    def __init__(self, model: nn.Module) -> None:
        refuse_mixing(model)
        self.model = model
        self.trained: dict[Tensor, str] = {p: name for name, p in model.named_parameters() if p.requires_grad}
        self.rules: dict[nn.Module, LayerRule] = {}
        self.names: dict[nn.Module, str] = {}
        known = [LAYERS[name]() for name in LAYERS.names()]
        for name, module in model.named_modules():
            if any(p in self.trained for p in module.parameters(recurse=False)):
                rule = next((rule for rule in (*known, AnyModuleRule()) if rule.matches(module)), None)
                if rule is not None:
                    self.rules[module], self.names[module] = rule, name

    def without_rule(self) -> list[str]:
        """Modules that are run again for each record because there is no rule for their kind."""
        return [
            f"{self.names[module]} ({type(module).__name__})"
            for module, rule in self.rules.items()
            if isinstance(rule, AnyModuleRule)
        ]

    def speaks_for(self, parameter: Tensor) -> bool:
        """Whether the parameter belongs to a module with a rule."""
        return any(own is parameter for module in self.rules for own in module.parameters(recurse=False))

    def name(self, place: Place) -> str:
        """What to call a place in a message."""
        return self.names.get(place, "the model") if isinstance(place, nn.Module) else "output_loss"

    @contextmanager
    def watched_by(self, listener: Listener, *, frozen: bool = True) -> Iterator[None]:
        """Within, layers report to the listener and (if `frozen`) no parameter asks for a gradient.

        The model is left as it was found, whatever happens.
        """
        with ExitStack() as undo:
            for module, rule in self.rules.items():
                undo.callback(rule.attach(module, listener))
            for parameter in self.trained if frozen else ():
                undo.callback(parameter.requires_grad_, True)
                parameter.requires_grad_(False)
            undo.enter_context(listener.listening())
            yield


def refuse_mixing(model: nn.Module) -> None:
    """Batch normalisation couples the records of a batch: none of them has a gradient of its own."""
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.training:
            raise RefusedError(
                f"{name} is a {type(module).__name__}, which mixes the records of a batch, so no record's gradient can "
                "be clipped; use LayerNorm or GroupNorm instead."
            )
