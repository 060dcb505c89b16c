"""D-FINE of the transformers library: a modern detector under a permissive licence."""

from typing import Any

from torch import Tensor, nn
from transformers import DFineConfig, DFineForObjectDetection, HGNetV2Config

from plucc.config import DFineSpec
from plucc.network.boxes import as_shares, from_centres, held, padded
from plucc.types import InputError

STRIDE = 32
PUCK = 0


class DFine(nn.Module):
    """Boxes by queries that refine distributions over edges."""

    def __init__(self, spec: DFineSpec, *, pretrained: bool = True) -> None:
        super().__init__()
        self.model = _published(spec.weights) if pretrained and spec.weights else DFineForObjectDetection(_config(spec))

    def losses(self, frames: Tensor, boxes_px: Tensor) -> dict[str, Tensor]:
        """Return the parts of the objective as D-FINE weighs them."""
        frames = padded(frames, STRIDE)
        shares = as_shares(boxes_px, frames)
        labels = [
            {"class_labels": shows.long()[shows] * PUCK, "boxes": shares[index : index + 1][shows]}
            for index, shows in enumerate(held(boxes_px)[:, None])
        ]
        output = self.model(pixel_values=frames, labels=labels)
        return {"detection": output.loss}

    def forward(self, frames: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return boxes and scores of each frame."""
        frames = padded(frames, STRIDE)
        height, width = frames.shape[-2:]
        output = self.model(pixel_values=frames)
        scores = output.logits[..., PUCK].sigmoid()
        size = frames.new_tensor([width, height, width, height])
        return [(from_centres(boxes * size), score) for boxes, score in zip(output.pred_boxes, scores, strict=True)]


def _config(spec: DFineSpec) -> DFineConfig:
    first, *_ = spec.stages
    settings: dict[str, Any] = {"out_indices": [2, 3, 4]}
    backbone = HGNetV2Config(
        stem_channels=[3, max(8, first // 4), max(8, first // 4)],
        stage_in_channels=[max(8, first // 4), *spec.stages[:3]],
        stage_mid_channels=[max(8, width // 4) for width in spec.stages],
        stage_out_channels=list(spec.stages),
        stage_num_blocks=[1, 1, 2, 1],
        stage_numb_of_layers=[3, 3, 3, 3],
        hidden_sizes=list(spec.stages),
        depths=[1, 1, 2, 1],
        use_learnable_affine_block=True,
        **settings,
    )
    labels: dict[str, Any] = {"num_labels": 1}
    return DFineConfig(
        backbone_config=backbone,
        freeze_backbone_batch_norms=False,
        encoder_in_channels=list(spec.stages[1:]),
        encoder_hidden_dim=spec.width,
        encoder_ffn_dim=4 * spec.width,
        decoder_in_channels=[spec.width] * 3,
        d_model=spec.width,
        decoder_ffn_dim=4 * spec.width,
        decoder_layers=spec.decoder_layers,
        num_queries=spec.queries,
        initializer_bias_prior_prob=0.01,
        depth_mult=0.34 if spec.width < 256 else 1.0,
        **labels,
    )


def _published(weights: str) -> DFineForObjectDetection:
    try:
        return DFineForObjectDetection.from_pretrained(weights, num_labels=1, ignore_mismatched_sizes=True)
    except OSError as error:
        raise InputError(
            f"the weights {weights} are neither a folder here nor could they be fetched: download them first"
        ) from error
