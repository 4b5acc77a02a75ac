"""Make a large .ncu-rep from a real one: ``python -m bench.ncu --launches 1000 -o PATH``, and measure it.

The launches of a sample are repeated; each copy n has its own fractional numbers: the real ones times 1 + n / 1000.
"""

from __future__ import annotations

import argparse
import mmap
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from bench import results
from bench.ingestion import Case, compare
from ingest.ncu import container
from ingest.ncu.messages import decode_message

SAMPLES = Path(__file__).resolve().parent.parent / "sample_reports"
# A double at the end of a value or list element: its tag and eight bytes.
_DOUBLE, _DOUBLE_BYTES = 0x19, 9


def generate(source: Path, launches: int, target: Path) -> None:
    """Write all blocks of ``source``, and repeat its kernels until there are ``launches``."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        blocks = list(container.list_blocks(data))
        first = blocks[0][1] - len(blocks[0][0]) - 4
        with target.open("wb") as output:
            output.write(data[:first])
            for head, begin, end in blocks:
                output.write(struct.pack("<I", len(head)) + head + data[begin:end])
            kernels = [
                data[begin:end] for head, begin, end in blocks if decode_message("Header").FromString(head).kernels
            ]
            process = decode_message("Header").FromString(blocks[0][0]).process
            for block in _copy_kernels(kernels, process, launches):
                output.write(block)


def _copy_kernels(kernels: list[bytes], process: bytes, launches: int) -> Iterator[bytes]:
    """Yield blocks of one kernel each, the sample's in turn."""
    for number in range(len(kernels), launches):
        payload = kernels[number % len(kernels)]
        (size,) = struct.unpack_from("<I", payload)
        result = _scale_metrics(payload[4 : 4 + size], 1 + number / 1000)
        header = decode_message("Header")(kernels=1, size=4 + len(result), process=process).SerializeToString()
        yield struct.pack("<I", len(header)) + header + struct.pack("<I", len(result)) + result


def _scale_metrics(data: bytes, factor: float) -> bytes:
    result = decode_message("Result").FromString(data)
    for at, blob in enumerate(result.metrics):
        metric = decode_message("Metric").FromString(blob)
        if metric.HasField("value"):
            metric.value = _scale_value(metric.value, factor)
        for place, element in enumerate(metric.elements):
            metric.elements[place] = _scale_value(element, factor)
        result.metrics[at] = metric.SerializeToString()
    return bytes(result.SerializeToString())


def _scale_value(value: bytes, factor: float) -> bytes:
    if len(value) < _DOUBLE_BYTES or value[-_DOUBLE_BYTES] != _DOUBLE:
        return value
    mask = 1 - _DOUBLE_BYTES
    return value[:mask] + struct.pack("<d", struct.unpack("<d", value[mask:])[0] * factor)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.ncu", description=__doc__)
    parser.add_argument("--launches", type=int, default=1000)
    parser.add_argument("--sample", default="kernels", help="2,184 metrics; transformer_training: 1,255")
    parser.add_argument("--repeat", type=int, default=0, help="measure drop to ready so often; the median counts")
    parser.add_argument("-o", "--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    generate(SAMPLES / f"{chosen.sample}.ncu-rep", chosen.launches, chosen.output)
    print(f"{chosen.output}: {chosen.launches} launches, {chosen.output.stat().st_size / results.MIB:.0f} MiB")
    if chosen.repeat:
        name = f"{chosen.launches:,} launches of {chosen.sample}"
        comparison = compare(Case(name, (chosen.output,), None), chosen.repeat)
        print("\n".join(results.format_comparisons([comparison])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
