"""Turns a trained player network into the ONNX file that the core runs, and checks that both say the same."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import torch

from plucc.context.shipped import FORMAT, KIND, METADATA_KEY
from plucc.files import whole_file
from plucc.network.players import PlayerNet
from plucc.types import ModelError

OPSET = 20
LEAST_PX = 60  # of the network's own pixels; a player at the far boards has 120, a puck rarely 40
TOLERANCE = 1e-2  # of logits, whose cut lies at 0 and whose usual values are between -10 and 10


def export_players(
    net: PlayerNet, path: Path, facts: Mapping[str, Any], *, cut: float = 0.0, margin_px: float = 0.0
) -> float:
    """Write the network with what must be known to run it; return the largest difference between both on noise.

    `cut` is the logit above which a pixel is a player's; the mask then grows by `margin_px` of a 720-line frame.
    `facts` are kept for the reader: data, seed, figures.
    """
    size = net.spec.size
    pixels = np.random.default_rng(0).integers(0, 256, (1, size.height, size.width, 3), np.uint8)
    frames = torch.from_numpy(pixels)
    net = net.eval()
    program = torch.onnx.export(
        net, (frames,), input_names=["frames"], output_names=["logits"], opset_version=OPSET, dynamo=True, verbose=False
    )
    if program is None:
        raise ModelError("the player network could not be exported: check the versions of torch and onnxscript")
    model = program.model_proto
    contract = {
        "kind": KIND,
        "format": FORMAT,
        "size": [size.width, size.height],
        "cut": cut,
        "margin_px": margin_px,
        "least_px": LEAST_PX,
    }
    onnx.helper.set_model_props(model, {METADATA_KEY: json.dumps({**facts, **contract, "spec": asdict(net.spec)})})
    with whole_file(path) as temporary:
        onnx.save(model, temporary)
        with torch.inference_mode():
            expected = net(frames).numpy()
        session = ort.InferenceSession(str(temporary), providers=["CPUExecutionProvider"])
        difference = float(np.abs(session.run(None, {"frames": pixels})[0] - expected).max())
        if difference > TOLERANCE:
            raise ModelError(f"the exported network differs by {difference:.3g} from the trained one: do not use it")
    return difference
