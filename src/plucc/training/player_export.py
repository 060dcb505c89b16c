"""Turns a trained player network into the ONNX file that the core runs, and checks that both say the same."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch import Tensor, nn

from plucc.context.shipped import PlayerFacts
from plucc.files import whole_file
from plucc.network.players import PlayerNet
from plucc.types import ModelError

OPSET = 20
TOLERANCE = 1e-2  # of logits, whose cut lies at 0 and whose usual values are between -10 and 10


@dataclass(frozen=True, slots=True)
class MaskRule:
    """How logits become a mask; see `PlayerFacts`."""

    cut: float = 0.0
    margin_px: int = 0
    least_px: int = 60  # a player at the far boards has 120, a puck rarely 40


class _Cells(nn.Module):
    """The network as it is exported: putting pixels in their places takes ONNX Runtime longer than the core."""

    def __init__(self, net: PlayerNet) -> None:
        super().__init__()
        self.net = net

    def forward(self, frames: Tensor) -> Tensor:
        return self.net.cells(frames)


def export_players(net: PlayerNet, path: Path, *, version: str, data: str, mask: MaskRule) -> float:
    """Write the network with what must be known to run it; return the largest difference between both on noise."""
    size = net.spec.size
    pixels = np.random.default_rng(0).integers(0, 256, (1, size.height, size.width, 3), np.uint8)
    frames = torch.from_numpy(pixels)
    cells = _Cells(net).eval()
    program = torch.onnx.export(
        cells,
        (frames,),
        input_names=["frames"],
        output_names=["logits"],
        opset_version=OPSET,
        dynamo=True,
        verbose=False,
    )
    if program is None:
        raise ModelError("the player network could not be exported: check the versions of torch and onnxscript")
    model = program.model_proto
    _strip_traces(model)
    facts = PlayerFacts(size, version, **asdict(mask), spec=json.dumps(asdict(net.spec)), data=data)
    onnx.helper.set_model_props(model, facts.to_metadata())
    with whole_file(path) as temporary:
        onnx.save(model, temporary)
        with torch.inference_mode():
            expected = cells(frames).numpy()
        session = ort.InferenceSession(str(temporary), providers=["CPUExecutionProvider"])
        difference = float(np.abs(session.run(None, {"frames": pixels})[0] - expected).max())
        if difference > TOLERANCE:
            raise ModelError(f"the exported network differs by {difference:.3g} from the trained one: do not use it")
    return difference


def _strip_traces(model: onnx.ModelProto) -> None:
    """Drop the exporter's notes of its own source lines: a shipped file tells nothing of the machine that made it."""
    del model.graph.metadata_props[:]
    for part in (*model.graph.node, *model.graph.input, *model.graph.output, *model.graph.initializer):
        part.doc_string = ""
        del part.metadata_props[:]
    del model.graph.value_info[:]
