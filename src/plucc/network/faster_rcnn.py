"""Faster R-CNN of torchvision with anchors for an object of six pixels."""

from collections import OrderedDict
from typing import Any

from torch import Tensor, nn
from torchvision.models import resnet50
from torchvision.models.detection import FasterRCNN as TorchvisionFasterRCNN
from torchvision.models.detection.backbone_utils import _resnet_fpn_extractor
from torchvision.models.detection.faster_rcnn import FastRCNNConvFCHead, FastRCNNPredictor, TwoMLPHead
from torchvision.models.detection.rpn import AnchorGenerator, RPNHead
from torchvision.models.detection.transform import GeneralizedRCNNTransform
from torchvision.ops import FeaturePyramidNetwork, MultiScaleRoIAlign

from plucc.config import IMAGENET_MEAN, IMAGENET_STD, EncoderSpec, FasterRcnnSpec
from plucc.network.boxes import held
from plucc.network.encoders import build_encoder

PUCK = 1  # torchvision's class 0 is the background
FINEST_STRIDE = 4
ANCHOR_STEPS = (0.67, 1.0, 1.5)  # sizes of a level, times its base
ANCHOR_SHAPES = (0.5, 1.0)  # height over width
POOLED_SIDE = 7
LEAST_SCORE = 0.001  # the best box is the answer however faint; confidence decides elsewhere
DETECTIONS = 5


class _OwnSize(GeneralizedRCNNTransform):  # type: ignore[misc]  # torchvision is not typed
    """Leaves frames at their own size: shrinking or enlarging would change the puck that the anchors are made for."""

    def resize(self, image: Tensor, target: dict[str, Tensor] | None = None) -> tuple[Tensor, dict[str, Tensor] | None]:
        return image, target


class EncoderPyramid(nn.Module):
    """A feature pyramid on an encoder of this package, from stride 4 on."""

    def __init__(self, spec: EncoderSpec, width: int) -> None:
        super().__init__()
        self.encoder = build_encoder(spec, pretrained=True)
        self.first = self.encoder.strides.index(FINEST_STRIDE)
        self.fpn = FeaturePyramidNetwork(list(self.encoder.channels[self.first :]), width, norm_layer=nn.BatchNorm2d)
        self.out_channels = width
        self.levels = len(self.encoder.channels) - self.first

    def forward(self, frames: Tensor) -> dict[str, Tensor]:
        features = self.encoder(frames)[self.first :]
        pyramid: dict[str, Tensor] = self.fpn(OrderedDict((str(level), one) for level, one in enumerate(features)))
        return pyramid


class FasterRcnn(nn.Module):
    """Boxes by proposals; `model` is torchvision's own module, so that its weights fit by name."""

    def __init__(self, spec: FasterRcnnSpec) -> None:
        super().__init__()
        if spec.encoder is None:
            resnet = _resnet_fpn_extractor(resnet50(weights=None), 5, norm_layer=nn.BatchNorm2d)
            self.model = _assembled(spec, resnet, levels=5, width=256)
        else:
            pyramid = EncoderPyramid(spec.encoder, spec.width)
            self.model = _assembled(spec, pyramid, levels=pyramid.levels, width=spec.width)

    def losses(self, frames: Tensor, boxes_px: Tensor) -> dict[str, Tensor]:
        """Return the parts of the objective; the detector must be in training mode."""
        labels = held(boxes_px)
        targets = [
            {"boxes": boxes_px[index : index + 1][shows], "labels": shows.long()[shows] * PUCK}
            for index, shows in enumerate(labels[:, None])
        ]
        parts: dict[str, Tensor] = self.model(list(frames), targets)
        return parts

    def forward(self, frames: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Return boxes and scores of each frame."""
        return [(found["boxes"], found["scores"]) for found in self.model(list(frames))]


def _assembled(spec: FasterRcnnSpec, backbone: nn.Module, *, levels: int, width: int) -> TorchvisionFasterRCNN:
    sizes = tuple(tuple(spec.anchor_px * 2**level * step for step in ANCHOR_STEPS) for level in range(levels))
    anchors = AnchorGenerator(sizes, (ANCHOR_SHAPES,) * levels)
    roi_levels = [str(level) for level in range(min(levels, 4))]
    settings: dict[str, Any] = {"image_mean": IMAGENET_MEAN, "image_std": IMAGENET_STD}
    model = TorchvisionFasterRCNN(
        backbone,
        rpn_anchor_generator=anchors,
        rpn_head=RPNHead(width, anchors.num_anchors_per_location()[0], conv_depth=2 if spec.encoder is None else 1),
        rpn_pre_nms_top_n_train=spec.proposals,
        rpn_post_nms_top_n_train=spec.proposals,
        rpn_pre_nms_top_n_test=max(spec.proposals // 2, 1),
        rpn_post_nms_top_n_test=max(spec.proposals // 2, 1),
        box_batch_size_per_image=min(spec.proposals, 512),
        rpn_fg_iou_thresh=0.5,  # an anchor a few pixels off a puck overlaps it by less than the usual 0.7
        box_roi_pool=MultiScaleRoIAlign(roi_levels, POOLED_SIDE, sampling_ratio=2),
        box_head=_box_head(spec, width),
        box_predictor=FastRCNNPredictor(spec.head_width, 1 + PUCK),
        box_score_thresh=LEAST_SCORE,
        box_detections_per_img=DETECTIONS,
        **settings,
    )
    model.transform = _OwnSize(0, 0, list(IMAGENET_MEAN), list(IMAGENET_STD))
    return model


def _box_head(spec: FasterRcnnSpec, width: int) -> nn.Module:
    if spec.encoder is None:  # as published
        shape = (width, POOLED_SIDE, POOLED_SIDE)
        published: nn.Module = FastRCNNConvFCHead(shape, [256] * 4, [spec.head_width], norm_layer=nn.BatchNorm2d)
        return published
    compact: nn.Module = TwoMLPHead(width * POOLED_SIDE**2, spec.head_width)
    return compact
