"""Several processes that make one private step together: the same release, the same price, as one process makes.

    with joined() as group, group.ledger(run / "ledger.jsonl") as ledger:         # under torchrun; alone otherwise
        fit_privately(model, source, sampler, loss, settings, plan, randomness, ledger=ledger, group=group, ...)

Process 0 draws the batch and tells the others; each takes every size-th unit of it, clips and adds up; the sums are
added up on process 0, which pays for the step, adds the noise, once, and hands the noisy sums out. So all processes
apply the same update, bit for bit, and what leaves the group is what one process would have released: the same
distribution and the same epsilon. The other processes are as trusted as the first, they see the drawn records.

**All or none.** Wherever a process can fail, all processes say whether they got through (`Group.agree`) before any goes
on. One that fails with an error stops all others with a sentence that names it; one that is killed closes its
connections, which the others notice at once; one that hangs is given up after `timeout_seconds`. No process ever has a
noisy sum that process 0 has not paid for, so whatever happens, the ledger covers what was applied.

Sharp edges. Processes must begin with the same weights, optimizer and plan: compared before the first step, refused if
they differ. Batches must come from `group.sampler(...)`: a process that used the whole draw would count each unit once
per process, so a step with more units than its share is refused. A checkpoint's folder must be the same for all. One
that waits for another's share, checkpoint or validation waits for `timeout_seconds` at most. What processes tell each
other travels unencrypted: keep them on one machine or on a network of your own.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from discreet.engine.checkpoint import weights
from discreet.engine.ledger import Ledger
from discreet.engine.noise import NoiseSource
from discreet.engine.sampling import Sampler
from discreet.engine.shared import SharedChoice, SharedLedger, SharedNoise
from discreet.errors import DiscreetError, RefusedError, RunError, SettingError


class Group:
    """A process on its own: nothing to share, nobody to wait for."""

    rank, size = 0, 1

    @property
    def first(self) -> bool:
        """Whether this is the process that draws, pays, adds the noise and writes."""
        return self.rank == 0

    def ledger(self, path: Path) -> Ledger | SharedLedger:
        return Ledger(path)

    def sampler(self, sampler: Sampler) -> Sampler:
        """The sampler whose draws are this process's share."""
        return sampler

    def noise(self, noise: NoiseSource) -> NoiseSource:
        return noise

    def agree(self, what: str, action: Callable[[], Any]) -> list[Any]:
        """Every process acts; each gets the results of all, by rank, or, where one failed, an error. Results are JSON.

        `what` is for the message, and must be the same everywhere.
        """
        return [action()]

    def decide(self, what: str, action: Callable[[], Any]) -> Any:
        """Process 0 acts and all get its result, or an error."""
        return self.agree(what, action if self.first else lambda: None)[0]

    def same(self, facts: dict[str, str]) -> None:
        """Refuses to go on where processes do not know the same facts."""

    def add_up(self, sums: Sequence[Tensor]) -> None:
        """Leaves the sums over all processes in process 0's tensors; those of the others are of no use after."""

    def hand_out(self, tensors: Sequence[Tensor]) -> None:
        """Gives all processes what process 0's tensors hold."""

    def own_seed(self, seed: int) -> int:
        """A seed for what should differ between processes, such as dropout; process 0 keeps it."""
        return (seed + self.rank * 0x9E3779B97F4A7C15) % 2**63

    def check_share(self, step: int, units: int) -> None:
        """Refuses a step in which this process has used more units than it was given."""

    def check_ledger(self, ledger: Ledger | SharedLedger) -> None:
        if isinstance(ledger, SharedLedger):
            raise SettingError("This ledger belongs to a group of processes; pass that group too.")

    def __enter__(self) -> "Group":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leaves the group; others that wait for this process are told that it is gone."""


ALONE = Group()


class JoinedGroup(Group):
    """The processes that `torch.distributed` knows of; use `joined()`."""

    def __init__(self, *, timeout_seconds: float, started_here: bool) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self._started_here, self._lost = started_here, ""
        self._shares: dict[int, int] = {}
        # Words and sums travel by gloo, whatever else the default group uses.
        self._links = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout_seconds))

    def ledger(self, path: Path) -> SharedLedger:
        return SharedLedger(self, path)

    def sampler(self, sampler: Sampler) -> Sampler:
        if isinstance(sampler.choice, SharedChoice):
            return sampler
        return replace(sampler, choice=SharedChoice(sampler.choice, self))

    def noise(self, noise: NoiseSource) -> NoiseSource:
        return SharedNoise(noise, self)

    def agree(self, what: str, action: Callable[[], Any]) -> list[Any]:
        error: Exception | None = None
        try:
            said = {"what": what, "value": action()}
        except Exception as reason:  # noqa: BLE001  whatever it is, the others must hear of it
            # The text of a foreign error may quote data; ours never does.
            error = reason
            said = {"what": what, "failed": str(reason) if isinstance(reason, DiscreetError) else type(reason).__name__}
        answers = self._exchange(said)
        if error is not None:
            raise error
        for rank, answer in enumerate(answers):
            if "failed" in answer:
                raise RunError(f"Process {rank} of {self.size} stopped at {what}, so all stop: {answer['failed']}")
            if answer["what"] != what:
                raise RunError(
                    f"Process {rank} is at {answer['what']} and process {self.rank} at {what}; "
                    "all processes must run the same steps."
                )
        return [answer["value"] for answer in answers]

    def same(self, facts: dict[str, str]) -> None:
        answers = self.agree("comparing the beginnings", lambda: facts)
        for rank, answer in enumerate(answers):
            differing = [name for name in facts if answer.get(name) != answers[0].get(name)]
            if differing:
                raise SettingError(
                    f"Process {rank} begins with another {' and '.join(differing)} than process 0; seed all processes "
                    "alike before the model is made, and let all see the same checkpoint."
                )

    def add_up(self, sums: Sequence[Tensor]) -> None:
        self._send(sums, lambda whole: dist.reduce(whole, 0, group=self._links, async_op=True))

    def hand_out(self, tensors: Sequence[Tensor]) -> None:
        self._send(tensors, lambda whole: dist.broadcast(whole, 0, group=self._links, async_op=True))

    def give_share(self, step: int, units: int) -> None:
        """Remembers how many units this process may use in a step."""
        self._shares[step] = units

    def check_share(self, step: int, units: int) -> None:
        given = self._shares.pop(step, 0)
        if units > given:
            raise RefusedError(
                f"Process {self.rank} used {units} units in step {step} and its share of the batch is {given}; draw "
                f"the step's batch with group.sampler(sampler), or units would count {self.size} times."
            )

    def check_ledger(self, ledger: Ledger | SharedLedger) -> None:
        if not isinstance(ledger, SharedLedger) or ledger.group is not self:
            raise SettingError("A group of processes has one ledger for all; open it with group.ledger(path).")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lost = self._lost or "This process has left its group."
        dist.destroy_process_group(None if self._started_here else self._links)

    def _exchange(self, value: Any) -> list[Any]:
        """What each process says, by rank."""
        text = torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        with self._contact():
            dist.all_gather(lengths, torch.tensor([len(text)]), group=self._links)
            longest = int(max(lengths))
            texts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
            own = torch.nn.functional.pad(text, (0, longest - len(text)))
            dist.all_gather(texts, own, group=self._links)
        return [json.loads(bytes(said[: int(n)].numpy())) for said, n in zip(texts, lengths, strict=True)]

    def _send(self, tensors: Sequence[Tensor], start: Callable[[Tensor], Any]) -> None:
        whole = [tensor.contiguous() for tensor in tensors]
        with self._contact():
            for work in [start(tensor) for tensor in whole]:
                work.wait()
        for tensor, sent in zip(tensors, whole, strict=True):
            if sent is not tensor:
                tensor.copy_(sent)

    @contextmanager
    def _contact(self) -> Iterator[None]:
        """Within, a process that is gone or does not answer is an error; after that nothing is sent any more."""
        if self._lost:
            raise RunError(self._lost)
        try:
            yield
        except RuntimeError as error:
            self._lost = (
                f"Process {self.rank} of {self.size} has lost another one, which died or does not answer; nothing more "
                "is applied, and what was spent is in the ledger. Start all again to resume."
            )
            raise RunError(self._lost) from error


def joined(*, timeout_seconds: float = 1800.0) -> Group:
    """The group this process was started in by `torchrun`, or `ALONE` if it was started on its own."""
    started_here = not dist.is_initialized()
    if started_here:
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            return ALONE
        dist.init_process_group("gloo", timeout=timedelta(seconds=timeout_seconds))
    return JoinedGroup(timeout_seconds=timeout_seconds, started_here=started_here)


def beginnings(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """Fingerprints of what must be the same in all processes before the first step."""
    state = optimizer.state_dict()
    groups = [{name: repr(value) for name, value in group.items()} for group in state["param_groups"]]
    memory = {f"{index}.{name}": value for index, own in state["state"].items() for name, value in own.items()}
    trained = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    return {
        "model": _fingerprint({**weights(model), "trained": trained}),
        "optimizer": _fingerprint({**memory, "groups": groups}),
    }


def _fingerprint(values: dict[str, Any]) -> str:
    """SHA-256 of named values. Sharded tensors are left out: each process has a part of its own."""
    digest = hashlib.sha256()
    for name, value in sorted(values.items()):
        if type(value) is Tensor:
            digest.update(f"{name} {value.dtype} {list(value.shape)}".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        elif not isinstance(value, Tensor):
            digest.update(f"{name} {value!r}".encode())
    return digest.hexdigest()
