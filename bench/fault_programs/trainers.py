"""Training loops of Lightning and Hugging Face whose callbacks mark the steps of a ``Loop``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from typing import Any

from bench.fault_programs.loop import ON_GPU, Loop


def fit_with_lightning(loop: Loop, network: Any, batches: Any, checkpoints: Any = None) -> None:
    """Train with the Trainer of Lightning, a step for each batch; ``checkpoints`` is the callback that writes them."""
    import lightning
    from lightning.fabric.plugins.environments import LightningEnvironment
    from lightning.pytorch.callbacks import Callback

    class Marks(Callback):
        def on_train_batch_start(self, *_: Any) -> None:
            loop.begin()

        def on_train_batch_end(self, *_: Any) -> None:
            loop.end()

    lightning.Trainer(
        max_epochs=1, logger=False, enable_progress_bar=False, enable_model_summary=False, precision="bf16-mixed",
        accelerator="gpu" if ON_GPU else "cpu", devices=1, default_root_dir=tempfile.mkdtemp(),
        plugins=[LightningEnvironment()],  # else it looks for MPI
        enable_checkpointing=checkpoints is not None, callbacks=[*([checkpoints] if checkpoints else []), Marks()],
    ).fit(network, batches)  # fmt: skip


def train_with_hugging_face(
    loop: Loop, network: Any, batch: int, dataset: Any, callbacks: Sequence[Any] = (), **arguments: Any
) -> None:
    """Train with the Trainer of Hugging Face, ``batch`` items at a time; ``arguments`` are of TrainingArguments.

    ``callbacks`` run within the steps.
    """
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Marks(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            loop.begin()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            loop.end()

    chosen = TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=batch, max_steps=loop.total, report_to=[],
        logging_strategy="no", save_strategy="no", bf16=ON_GPU, disable_tqdm=True, use_cpu=not ON_GPU,
        dataloader_num_workers=2 if ON_GPU else 0, **arguments,
    )  # fmt: skip
    Trainer(model=network, args=chosen, train_dataset=dataset, callbacks=[*callbacks, Marks()]).train()
