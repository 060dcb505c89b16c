"""Exported models and what runs them: ONNX Runtime, OpenVINO, torch; one protocol."""
