"""From other people's labels to records: YOLO text, COCO JSON, CVAT XML."""
