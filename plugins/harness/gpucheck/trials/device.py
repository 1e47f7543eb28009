"""Prints which GPU a trial sees, and computes on it."""

import json
import os

import torch

import determined as det
from determined import core


def main() -> None:
    info = det.get_cluster_info()
    assert info is not None
    device = "cuda" if torch.cuda.is_available() else "cpu"
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.rand(512, 512, generator=generator) for _ in range(2))
    wrong = ((a.to(device) @ b.to(device)).cpu() - a @ b).abs().max() / (a @ b).max()
    found = {
        "told": info.gpu_uuids,
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "device": device,
        "count": torch.cuda.device_count(),
        "uuid": "",
        "error": float(wrong),
    }
    if device == "cuda":
        found["uuid"] = str(getattr(torch.cuda.get_device_properties(0), "uuid", ""))
    with core.init() as context:
        context.train.report_validation_metrics(1, {"loss": float(wrong)})
    print("GPUCHECK " + json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
