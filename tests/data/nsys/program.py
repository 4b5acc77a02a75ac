"""What the captures of this folder recorded: `python program.py graph`, `python program.py processes` (torch 2.11).

nsys profile --trace=cuda,nvtx,osrt --sample=none --cpuctxsw=none, and for
  graphs_by_node  --cuda-graph-trace=node   and
  graphs_whole    --cuda-graph-trace=graph  --capture-range=cudaProfilerApi --capture-range-end=stop
on an H200 with Nsight Systems 2025.3, exported to SQLite without the tables and texts that tell about the machine.
Beside each export lies what `nsys stats --format csv` of that version printed about it.
"""

import sys

import torch
from torch import multiprocessing
from torch.cuda import nvtx, profiler

GRAPH = sys.argv[1] == "graph"


def step(
    number: int,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    graph: torch.cuda.CUDAGraph,
    batch: torch.Tensor,
) -> None:
    """One step; every second one opens ranges on the backward thread, too."""
    request = nvtx.range_start("request")
    nvtx.range_push("step")
    nvtx.range_push("step")
    if GRAPH:
        nvtx.range_push("replay")
        graph.replay()
        graph.replay()
        nvtx.range_pop()
    nvtx.range_push("forward")
    loss = model(batch).sum()
    nvtx.range_pop()
    crossing = nvtx.range_start("crossing")
    nvtx.range_push("backward")
    with torch.autograd.profiler.emit_nvtx(enabled=number % 2 == 1):
        loss.backward()
    nvtx.range_pop()
    nvtx.range_pop()
    nvtx.range_end(crossing)
    nvtx.range_push("optimizer")
    optimizer.step()
    optimizer.zero_grad()
    nvtx.range_pop()
    nvtx.range_pop()
    torch.zeros(1 << 20).to("cuda:0")
    nvtx.range_end(request)


def work(rank: int = 0) -> None:
    """Six steps with ranges that nest, cross, lie in one of their own name, and one that is never closed."""
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).to("cuda:0")
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
    batch = torch.randn(256, 1024, device="cuda:0")
    for _ in range(3):
        model(batch).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    graph = torch.cuda.CUDAGraph()
    if GRAPH:
        with torch.cuda.stream(torch.cuda.Stream()):
            model(batch)
        with torch.cuda.graph(graph):
            model(batch)
        profiler.start()
    for number in range(6):
        step(number, model, optimizer, graph, batch)
    nvtx.range_push("never closed")
    model(batch)
    torch.cuda.synchronize()
    if GRAPH:
        profiler.stop()


if __name__ == "__main__":
    if GRAPH:
        work()
    else:
        multiprocessing.spawn(work, nprocs=2)
