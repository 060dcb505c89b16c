"""The protocol's steps, one after the other; a run that was stopped goes on where it was."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from plucc.config import Spec, TimmEncoderSpec
from plucc.context.maskfile import write_dataset_masks
from plucc.context.shipped import ShippedFinder
from plucc.data.findings import Findings
from plucc.data.importers.intake import ClassMap, Intake
from plucc.data.importers.origins import find_origins
from plucc.data.importers.store import About, store
from plucc.data.importers.yolo import read_yolo
from plucc.evaluate.run import Request, calibrate, evaluate, write_report
from plucc.evaluate.selection import Selection
from plucc.files import whole_file
from plucc.locator import Locator
from plucc.retrain.protocol import NetworkPlan, ProtocolSpec, backbones, training_spec
from plucc.synth.frames import plan_frames, write_frames
from plucc.types import InputError, Progress, Size, require, silent

Say: TypeAlias = Callable[[str], None]

PLAN_FILE, DONE_FILE = "plan.json", "done.json"
FRAME = Size(1280, 720)
FEWEST_RENDERED = 8


@dataclass(frozen=True, slots=True)
class Wish:
    """What to train on and where to; `backbones` are files of ImageNet weights by timm's names.

    Weights that are not given are fetched from timm's hub; `scratch` does without any.
    With another `scale`, trainings take so many times as long as the protocol says, on so many times as many rendered
    frames.
    """

    source: Path
    out: Path
    protocol: ProtocolSpec
    backbones: Mapping[str, Path] = field(default_factory=dict)
    scratch: bool = False
    scale: float = 1.0
    overrides: tuple[str, ...] = ()
    processes: int = 2


def retrain(wish: Wish, *, say: Say = print, progress: Progress = silent) -> Path:
    """Carry out every step that is not done yet and return the folder of the report on the test games."""
    for module in ("torch", "lightning", "timm", "tensorboard", "onnx", "onnxscript"):
        require(module, "train")
    making = Making(wish, say, progress)
    _settle(wish)
    done = _done(wish.out)
    for name, step in making.steps().items():
        if name in done:
            say(f"{name}: done before")
            continue
        say(f"{name} …")
        step()
        done.append(name)
        with whole_file(wish.out / DONE_FILE) as temporary:
            temporary.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    return making.report


class Making:
    """The steps, and the files that they pass on to each other."""

    def __init__(self, wish: Wish, say: Say, progress: Progress) -> None:
        self._wish, self._say, self._progress = wish, say, progress
        self._protocol = wish.protocol
        out = wish.out
        self.real, self.rendered, self.masks = (out / "data" / name for name in ("real", "rendered", "players.jsonl"))
        self.models = [out / f"{plan.name}.onnx" for plan in self._protocol.networks]
        self.second, self.report = out / f"{self._protocol.networks[0].name}-second.onnx", out / "report"
        self._specs = [self._spec(plan) for plan in self._protocol.networks]  # a typo is named before anything is done

    def steps(self) -> dict[str, Callable[[], None]]:
        """Return what is to be done, in its order, by name."""
        networks = {
            f"train {plan.name}": partial(self._train, plan.name, spec, model)
            for plan, spec, model in zip(self._protocol.networks, self._specs, self.models, strict=True)
        }
        return {
            "import frames": self._import,
            "find players": self._find_players,
            "render frames": self._render,
            **networks,
            "train the second look": self._train_second_look,
            "attach it": self._attach,
            "fit confidence": self._fit_confidence,
            "evaluate": self._evaluate,
        }

    def _import(self) -> None:
        if self.real.exists():
            return
        labels, source = self._protocol.labels, self._wish.source
        classes = ClassMap(frozenset(labels.puck), frozenset(labels.players), labels.roles)
        match, run = find_origins(source, None, labels.match_from, None)
        intake = Intake(self.real, classes, match, run, findings=Findings(), progress=self._progress)
        tally = store(read_yolo(source, intake), intake, About("real", labels.licence, labels.source))
        self._say(f"  {tally.records} frames, {tally.pucks} with a puck")

    def _find_players(self) -> None:
        write_dataset_masks(self.real, ShippedFinder(), self.masks, progress=self._progress)

    def _render(self) -> None:
        if self.rendered.exists():
            return
        spec = self._protocol.rendered
        count = max(FEWEST_RENDERED, round(spec.count * self._wish.scale))
        plan = plan_frames(count, spec.seed, FRAME, frames_per_match=spec.frames_per_match)
        write_frames(self.rendered, plan, processes=self._wish.processes, progress=self._progress)

    def _train(self, name: str, spec: Spec, model: Path) -> None:
        from plucc.export import export_checkpoint  # noqa: PLC0415  # torch loads when it is needed
        from plucc.training.fit import FINAL_FILE, train  # noqa: PLC0415

        run = self._wish.out / "runs" / name
        if not (run / FINAL_FILE).is_file():
            train(spec, run, resume=True, say=lambda line: self._say(f"  {line}"))
        export_checkpoint(run / FINAL_FILE, model)

    def _spec(self, plan: NetworkPlan) -> Spec:
        share = self._protocol.rendered.share
        data = {
            "datasets": [
                {"path": str(self.real), "weight": 1 - share, "masks": str(self.masks)},
                {"path": str(self.rendered), "weight": share, "validate_on": False},
            ],
            "cache": str(self._wish.out / "cache"),
        }
        timed = plan.model_copy(update={"hours": plan.hours * self._wish.scale})
        spec = training_spec(self._protocol, timed, data, self._wish.overrides)
        frame = spec.network.frame
        if isinstance(frame, TimmEncoderSpec):
            file, fetched = self._start(frame.name)
            frame = frame.model_copy(update={"pretrained": fetched, "weights_file": file})
        return spec.model_copy(update={"network": spec.network.model_copy(update={"frame": frame})})

    def _start(self, backbone: str) -> tuple[Path | None, bool]:
        """Return the file that a backbone starts from, and whether its weights are fetched instead."""
        file = self._wish.backbones.get(backbone)
        return file, file is None and not self._wish.scratch

    def _train_second_look(self) -> None:
        from plucc.export import export_second_look  # noqa: PLC0415  # torch, as above
        from plucc.training.second_look import (  # noqa: PLC0415
            SecondLookPlan,
            SecondLookTraining,
            train_second_look,
        )
        from plucc.training.shares import SharedSource  # noqa: PLC0415

        spec = self._protocol.second_look
        checkpoint = self._wish.out / "runs" / "second.pt"
        start_from, pretrained = self._start(spec.network.backbone)
        plan = SecondLookPlan(
            sources=(
                SharedSource(self.real, None, spec.real_share),
                SharedSource(self.rendered, None, 1 - spec.real_share),
            ),
            spec=spec.network,
            training=SecondLookTraining(spec.minutes * self._wish.scale, seed=spec.seed),
            held_out=frozenset((*self._protocol.validation, *self._protocol.test)),
            start_from=start_from,
            pretrained=pretrained,
        )
        train_second_look(plan, checkpoint, lambda: Locator(self.models[0]).first_look, progress=self._progress)
        export_second_look(checkpoint, self.second)

    def _attach(self) -> None:
        from plucc.export import attach_second_look  # noqa: PLC0415  # torch, as above

        first, *others = self.models
        for model in others:
            attach_second_look(model, self.second, first)
        attach_second_look(first, self.second, others[0] if others else None)

    def _fit_confidence(self) -> None:
        request = Request(
            str(self.models[0]), self.real, selection=Selection(matches=self._protocol.validation), pictures=0
        )
        try:
            fitted = calibrate(self.models[0], evaluate(request, progress=self._progress))
        except InputError as error:  # too few frames, or none of them found: no reason to lose the rest
            self._say(f"  confidence stays as it is: {error}")
        else:
            self._say(f"  {fitted}")

    def _evaluate(self) -> None:
        request = Request(str(self.models[0]), self.real, selection=Selection(matches=self._protocol.test))
        result = evaluate(request, progress=self._progress)
        write_report(result, self.report)
        self._say(result.report.summary())


def _settle(wish: Wish) -> None:
    """Refuse to mix weights of different plans in one folder."""
    plan = {
        "source": str(wish.source.resolve()),
        "protocol": wish.protocol.model_dump(mode="json"),
        "backbones": {name: str(file.resolve()) for name, file in wish.backbones.items()},
        "scratch": wish.scratch,
        "scale": wish.scale,
        "overrides": list(wish.overrides),
    }
    path = wish.out / PLAN_FILE
    if path.is_file() and json.loads(path.read_text(encoding="utf-8")) != plan:
        raise InputError(f"{wish.out} holds weights of another plan: choose another --out, or give the same settings")
    if wish.scratch and wish.backbones:
        raise InputError(f"{', '.join(wish.backbones)}: no start from scratch: leave out --scratch or --backbone")
    if not wish.source.is_dir():
        raise InputError(f"{wish.source} is no folder: give the one with frames/, labels/ and index.csv")
    known = backbones(wish.protocol)
    for name, file in wish.backbones.items():
        if name not in known:
            raise InputError(f"{name} is no backbone of this protocol: it has {' and '.join(known)}")
        if not file.is_file():
            raise InputError(f"{file} does not exist: give the weights of {name}, or leave it out")
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


def _done(out: Path) -> list[str]:
    path = out / DONE_FILE
    return list(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else []
