"""PyPI's torchvision is built for CUDA: beside a CPU torch its operators are missing and its import fails.

FedLab imports it for datasets that this benchmark does not touch, so the names that it looks for are declared, empty.
"""

import torch

for name, arguments in {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold)",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold)",
}.items():
    torch.library.define(f"torchvision::{name}", f"{arguments} -> Tensor")
