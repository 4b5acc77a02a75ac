"""Files to drop into an inbox, and a faulty converter."""

from pathlib import Path

import pytest

from profiledb.library.catalog import Job
from profiledb.library.library import Library
from tests.conftest import CORPUS, SAMPLES
from tests.support import exports
from tests.support.exports import kernel, kernels

needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")


SAMPLE = SAMPLES / "transformer_training.nsys-rep"


def made(path: Path, end: int = 2) -> Path:
    return exports.write(path, kernels(kernel(1, end)))


def job_of(library: Library, path: Path) -> Job:
    job = library.catalog.job(str(path))
    assert job is not None
    return job


def stand_in(folder: Path, commands: str) -> Path:
    """Write a converter with a fault that the real one shows only on a full or broken machine."""
    script = folder / "nsys"
    version = "NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0"
    script.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then echo "{version}"; exit; fi\n{commands}\n')
    script.chmod(0o755)
    return script
