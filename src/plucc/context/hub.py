"""Models in the hub's format, by local folder or by name; torch is imported when one is opened."""

import logging
from pathlib import Path
from typing import Any

from plucc.context.finder import digest_of
from plucc.types import InputError, ModelError, require

EXTRA = "train"
_LOCAL_ERRORS = (OSError, ValueError, KeyError)  # what transformers raises for files that are missing or foreign


def load_pair(model_class: str, processor_class: str, source: str, device: str) -> tuple[Any, Any]:
    """Return (model, processor); the model is on the device, in half precision unless that is the CPU."""
    torch = require("torch", EXTRA)
    transformers = require("transformers", EXTRA)
    place = chosen_device(device)
    precision = torch.float32 if place == "cpu" else torch.float16
    try:
        processor = getattr(transformers, processor_class).from_pretrained(source)
        model = getattr(transformers, model_class).from_pretrained(source, dtype=precision)
    except _LOCAL_ERRORS as error:
        logging.getLogger(__name__).debug("transformers: %s", error)
        raise ModelError(
            f"{source} holds no model that {model_class} can read: give a folder in the hub's format, or a name "
            f"that the model hub knows while it can be reached"
        ) from error
    return model.to(place).eval(), processor


def chosen_device(device: str) -> str:
    """Return the device to run on; "auto" takes the best that is there."""
    torch = require("torch", EXTRA)
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, there in available.items() if there)
    if not available.get(device.partition(":")[0], False):
        raise InputError(f"device {device} is not available here: choose one of auto, {', '.join(available)}")
    return device


def version_of(source: str, model: Any) -> str:
    """Return a name that changes with the weights: the commit on the hub, or the content of the local files."""
    folder = Path(source)
    if folder.is_dir():
        return f"{folder.name}-{digest_of(folder.glob('*.safetensors'))}"
    commit = getattr(model.config, "_commit_hash", None) or "unknown"
    return f"{source}-{commit[:8]}"
