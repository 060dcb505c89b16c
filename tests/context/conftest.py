"""Models in miniature: SAM 2 as two ONNX files that paint the prompted box, and random ones in the hub's format."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SIDE = 1024
LOW = 256


@pytest.fixture(scope="session")
def sam2_onnx_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sam2-onnx")
    onnx.save(_encoder(), folder / "tiny_encoder.onnx")
    onnx.save(_decoder(), folder / "tiny_decoder.onnx")
    return folder


def _encoder() -> onnx.ModelProto:
    pool = helper.make_node("AveragePool", ["image"], ["image_embed"], kernel_shape=[16, 16], strides=[16, 16])
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIDE, SIDE])]
    outputs = [helper.make_tensor_value_info("image_embed", TensorProto.FLOAT, [1, 3, 64, 64])]
    return _model([pool], inputs, outputs, [])


def _decoder() -> onnx.ModelProto:
    """Logit = distance inside the box in pixels of the square, so that it is zero on the box's edge."""
    centres = (np.arange(LOW, dtype=np.float32) + 0.5) * SIDE / LOW
    constants = {
        "x": centres.reshape(1, 1, 1, LOW),
        "y": centres.reshape(1, 1, LOW, 1),
        "zero": np.array([0], np.int64),
        "one": np.array([1], np.int64),
        "two": np.array([2], np.int64),
        "axes": np.array([2], np.int64),
        "column": np.array([-1, 1, 1, 1], np.int64),
        "signs": np.array([-1, 1, -1], np.float32).reshape(1, 3, 1, 1),
        "trust": np.array([[0.1, 0.9, 0.3]], np.float32),
        "axis1": np.array([1], np.int64),
        "axis2": np.array([2], np.int64),
    }
    nodes = []
    for name, point, axis in (("left", 0, 0), ("top", 0, 1), ("right", 1, 0), ("bottom", 1, 1)):
        start, stop = (("zero", "one"), ("one", "two"))[point]
        nodes.append(helper.make_node("Slice", ["point_coords", start, stop, "axis1"], [f"{name}_p"]))
        start, stop = (("zero", "one"), ("one", "two"))[axis]
        nodes.append(helper.make_node("Slice", [f"{name}_p", start, stop, "axis2"], [f"{name}_c"]))
        nodes.append(helper.make_node("Reshape", [f"{name}_c", "column"], [name]))
    nodes += [
        helper.make_node("Sub", ["x", "left"], ["from_left"]),
        helper.make_node("Sub", ["right", "x"], ["from_right"]),
        helper.make_node("Sub", ["y", "top"], ["from_top"]),
        helper.make_node("Sub", ["bottom", "y"], ["from_bottom"]),
        helper.make_node("Min", ["from_left", "from_right", "from_top", "from_bottom"], ["inside"]),
        helper.make_node("Mul", ["inside", "signs"], ["masks"]),
        helper.make_node("ReduceSum", ["point_labels", "axis1"], ["labels"], keepdims=1),  # 2 + 3 for a box
        helper.make_node("Mul", ["labels", "trust"], ["iou_predictions"]),
    ]
    inputs = [
        helper.make_tensor_value_info("image_embed", TensorProto.FLOAT, [1, 3, 64, 64]),
        helper.make_tensor_value_info("point_coords", TensorProto.FLOAT, ["n", "p", 2]),
        helper.make_tensor_value_info("point_labels", TensorProto.FLOAT, ["n", "p"]),
        helper.make_tensor_value_info("mask_input", TensorProto.FLOAT, ["n", 1, LOW, LOW]),
        helper.make_tensor_value_info("has_mask_input", TensorProto.FLOAT, [1]),
    ]
    outputs = [
        helper.make_tensor_value_info("masks", TensorProto.FLOAT, ["n", 3, LOW, LOW]),
        helper.make_tensor_value_info("iou_predictions", TensorProto.FLOAT, ["n", 3]),
    ]
    return _model(nodes, inputs, outputs, [numpy_helper.from_array(array, name) for name, array in constants.items()])


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    constants: list[onnx.TensorProto],
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "sam2", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.fixture(scope="session")
def sam2_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A randomly initialised SAM 2 of 128 px, saved as the hub has them."""
    torch = pytest.importorskip("torch")
    hub = pytest.importorskip("transformers")
    torch.manual_seed(0)
    side = 128
    backbone = hub.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[side, side],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 4],
        window_size_per_stage=[8, 4, 4, 4],
        global_attention_blocks=[3],
        window_positional_embedding_background_size=[4, 4],
    )
    sizes = [[side // stride, side // stride] for stride in (4, 8, 16)]
    vision = hub.Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=sizes,
        fpn_hidden_size=32,
    )
    prompts = hub.Sam2PromptEncoderConfig(hidden_size=32, image_size=side, patch_size=16, mask_input_channels=4)
    decoder = hub.Sam2MaskDecoderConfig(
        hidden_size=32, mlp_dim=32, num_hidden_layers=1, num_attention_heads=2, iou_head_hidden_dim=16
    )
    config = hub.Sam2Config(vision_config=vision, prompt_encoder_config=prompts, mask_decoder_config=decoder)
    pictures = hub.Sam2ImageProcessor(
        size={"height": side, "width": side}, mask_size={"height": side // 4, "width": side // 4}
    )
    folder = tmp_path_factory.mktemp("sam2")
    hub.Sam2Model(config).save_pretrained(folder)
    hub.Sam2Processor(pictures, target_size=side).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def detector_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save_rf_detr(tmp_path_factory.mktemp("rf-detr"), "RfDetrForObjectDetection", {0: "person", 1: "puck"})


@pytest.fixture(scope="session")
def instances_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _save_rf_detr(tmp_path_factory.mktemp("rf-seg"), "RfDetrForInstanceSegmentation", {0: "person", 1: "puck"})


@pytest.fixture(scope="session")
def goose_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector that knows no people."""
    return _save_rf_detr(tmp_path_factory.mktemp("geese"), "RfDetrForObjectDetection", {0: "goose", 1: "puck"})


def _save_rf_detr(folder: Path, model_class: str, labels: dict[int, str]) -> Path:
    torch = pytest.importorskip("torch")
    hub = pytest.importorskip("transformers")
    torch.manual_seed(0)
    backbone = hub.RfDetrDinov2Config(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        mlp_ratio=2,
        image_size=64,
        patch_size=16,
        num_windows=1,
        out_features=["stage1", "stage2"],
    )
    config = hub.RfDetrConfig(
        backbone_config=backbone,
        d_model=16,
        decoder_layers=1,
        decoder_self_attention_heads=2,
        decoder_cross_attention_heads=2,
        decoder_ffn_dim=16,
        decoder_n_points=2,
        num_queries=6,
        group_detr=1,
        c2f_num_blocks=1,
        intermediate_size=32,
        id2label=labels,
        label2id={name: number for number, name in labels.items()},
    )
    getattr(hub, model_class)(config).save_pretrained(folder)
    hub.RfDetrImageProcessor(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder
