"""A library of the PyTorch profiler samples, with the nsys exports of the same programs."""

import pytest

from profiledb.library.library import Library
from tests.conftest import SAMPLES, Once, ingest_files

FOLDER = SAMPLES / "torch"
TRACE = ".pt.trace.json.gz"
TRAINING, INFERENCE = f"torch_training{TRACE}", f"torch_inference{TRACE}"
RANKS = [f"torch_ddp_2_rank{rank}{TRACE}" for rank in (0, 1)]
NSYS = {TRAINING: "torch_training_nsys.sqlite", INFERENCE: "torch_inference_nsys.sqlite"}
"""The Systems report of the same program, by trace."""
needs_torch_samples = pytest.mark.skipif(not list(FOLDER.glob("*")), reason="no samples of the PyTorch profiler here")


@pytest.fixture(scope="session", name="torch_samples")
def make_torch_samples(once: Once) -> Library:
    """Return a library of the samples, with their sidecar files."""
    return Library(once("torch_samples", lambda folder: ingest_files(folder, sorted(FOLDER.glob("*")))) / "library")


@pytest.fixture(scope="session")
def torch_training(once: Once) -> Library:
    """Return a library of the two reports of the training."""
    files = [FOLDER / name for name in (TRAINING, NSYS[TRAINING])]
    return Library(once("torch_training", lambda folder: ingest_files(folder, files)) / "library")
