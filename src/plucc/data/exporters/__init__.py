"""From records to other people's formats: YOLO text, COCO JSON."""
