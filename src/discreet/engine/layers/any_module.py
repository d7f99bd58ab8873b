"""Any other layer without sub-layers: its gradients record by record, with torch.func.

Not registered: it is what is taken where no rule matches. The layer's forward is run again on each record's input
and pulled back, all records at once under `vmap`. Right, but slow; and as the gradients are written down it takes B
times the memory of the layer's parameters.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from discreet.engine.clipping.contract import Listener, NoRule
from discreet.engine.clipping.pieces import Piece, Whole


class AnyModuleRule:
    """Per-record gradients of a module's own parameters by running it again."""

    def matches(self, module: nn.Module) -> bool:
        return not any(True for _ in module.children())

    def attach(self, module: nn.Module, listener: Listener) -> Callable[[], None]:
        running = False  # running the module again must not be reported as another use

        def hook(_: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> Any:
            if running:
                return output
            if keywords or not isinstance(output, Tensor) or not all(isinstance(given, Tensor) for given in args):
                raise NoRule(f"a {type(module).__name__} takes or gives more than tensors")
            return listener.watch(module, args, output, report)

        def report(inputs: tuple[Tensor, ...], grad: Tensor) -> Iterator[tuple[Tensor, Piece]]:
            nonlocal running
            running = True
            try:
                parameters: dict[str, Tensor] = {
                    name: p for name, p in module.named_parameters(recurse=False) if listener.trains(p)
                }
                gradients = _pull_back(module, parameters, inputs, grad)
            except RuntimeError as error:  # vmap's word for what it cannot do
                raise NoRule(f"a {type(module).__name__} cannot be run record by record") from error
            finally:
                running = False
            for name, parameter in parameters.items():
                yield parameter, Whole(gradients[name])

        return module.register_forward_hook(hook, with_kwargs=True).remove


def _pull_back(
    module: nn.Module, parameters: dict[str, Tensor], inputs: tuple[Tensor, ...], grad: Tensor
) -> dict[str, Tensor]:
    """The gradient of <output, grad> with respect to the parameters, for each record."""

    def one_record(given: tuple[Tensor, ...], own: Tensor) -> dict[str, Tensor]:
        def run(values: dict[str, Tensor]) -> Tensor:
            result: Tensor = torch.func.functional_call(module, values, tuple(t.unsqueeze(0) for t in given))
            return result

        pull = torch.func.vjp(run, {name: p.detach() for name, p in parameters.items()})[1]
        result: dict[str, Tensor] = pull(own.unsqueeze(0))[0]
        return result

    with torch.enable_grad():
        gradients: dict[str, Tensor] = torch.func.vmap(one_record)(inputs, grad)
    return gradients
