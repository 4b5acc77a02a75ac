"""One training step: its API calls, GPU operations and NVTX ranges, in the order in which the host makes them."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.kernels import DRIVER, KERNELS, RUNTIME, SIDE_STREAM

MAIN, AUTOGRAD = 0, 1
KERNEL, MEMCPY, MEMSET = 0, 1, 2
LAYERS = 12
HTOD, DTOH, DTOD = 1, 2, 8

# `name{` and `}` open and close a range, `>thread` changes the launching thread, `@` words are not kernels.
_FORWARD_LAYER = """
    norm_1{ norm } attention{ qkv_proj{ qkv bias } permute permute permute
      scaled_dot_product_attention{ computing_attention_scores{ scores scale mask } computing_softmax{ softmax dropout }
        final_matmul{ values permute } }
      out_proj{ out bias dropout add } }
    norm_2{ norm } mlp{ fc1 bias gelu fc2 bias dropout add }
"""
_BACKWARD_LAYER = """
    add dropout_grad fc2_dgrad fc2_wgrad bias_wgrad gelu_grad fc1_dgrad fc1_wgrad bias_wgrad norm_dgrad norm_wgrad
    add dropout_grad out_dgrad out_wgrad bias_wgrad contiguous values_dgrad values_wgrad dropout_grad softmax_grad
    mask scale scores_dgrad scores_wgrad permute permute permute cat qkv_dgrad qkv_wgrad bias_wgrad
    norm_dgrad norm_wgrad add triton to_half all_reduce
"""
_STEP = (
    "step{ next_batch{ @h2d @h2d to_half } zero_grad{ foreach_zero foreach_zero @memset zero } forward{ "
    "embedding embedding add dropout "
    + " ".join(f"layer_{layer}{{ {_FORWARD_LAYER} }}" for layer in range(LAYERS))
    + " norm head @d2d } loss{ log_softmax loss } backward{ >autograd fill div loss_grad log_softmax_grad head_dgrad "
    "head_wgrad norm_dgrad norm_wgrad @memset "
    + _BACKWARD_LAYER * LAYERS
    + " sort scan embedding_grad embedding_grad all_reduce >main } clip_gradients{ "
    + "foreach_norm " * 4
    + "sqrt grad_norm reciprocal clamp foreach_scale foreach_scale } optimizer_step{ "
    + "adam mul " * 8
    + "} } mul add @d2h @sync"
)
_OPERATIONS = {
    "@h2d": (MEMCPY, HTOD, "cudaMemcpyAsync_v3020", 21_000),
    "@d2h": (MEMCPY, DTOH, "cudaMemcpyAsync_v3020", 1_900),
    "@d2d": (MEMCPY, DTOD, "cudaMemcpyAsync_v3020", 6_400),
    "@memset": (MEMSET, 0, "cudaMemsetAsync_v3020", 1_700),
}


@dataclass(frozen=True)
class Call:
    """An API call: its name, mean duration in ns, thread (MAIN or AUTOGRAD) and event class (RUNTIME or DRIVER)."""

    api: str
    mean_ns: int
    thread: int

    @property
    def event_class(self) -> int:
        """Return the event class: names of the driver's functions start with cu, the runtime's with cuda."""
        return RUNTIME if self.api.startswith("cuda") else DRIVER


@dataclass(frozen=True)
class Operation:
    """A GPU operation: KERNEL, MEMCPY or MEMSET, the index of its call, its kernel's key or copy kind, mean ns."""

    kind: int
    call: int
    key: str
    copy_kind: int
    mean_ns: int
    side: bool


@dataclass
class Range:
    """An NVTX range from just before one call to just after another, `depth` ranges deep."""

    name: str
    depth: int
    first_call: int
    last_call: int = -1


@dataclass
class Step:
    """One training step; the last call waits for everything before it."""

    calls: list[Call] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    @property
    def kernels(self) -> int:
        """Number of operations that are kernels."""
        return sum(operation.kind == KERNEL for operation in self.operations)

    def launch(self, word: str, thread: int) -> None:
        """Append the calls and the operation of `word`."""
        if word in _OPERATIONS:
            kind, copy_kind, api, mean_ns = _OPERATIONS[word]
            self.calls.append(Call(api, 5_200, thread))
            self.operations.append(Operation(kind, len(self.calls) - 1, word, copy_kind, mean_ns, side=False))
            return
        kernel = KERNELS[word]
        self.calls.append(Call(kernel.question, 450, thread))
        self.calls.append(Call(kernel.api, 3_600, thread))
        side = kernel.stream == SIDE_STREAM
        self.operations.append(Operation(KERNEL, len(self.calls) - 1, word, 0, kernel.mean_ns, side))


def make_training_step(*, single_thread: bool = False) -> Step:
    """Return the step: about 800 kernels, two calls a kernel, 0.2 ranges a kernel.

    The backward pass, 60 % of the kernels, is launched by the autograd thread, or with `single_thread` by the main one.
    """
    step, thread, stack = Step(), MAIN, list[Range]()
    for word in _STEP.split():
        if word.endswith("{"):
            stack.append(Range(word[:-1], len(stack), len(step.calls)))
            step.ranges.append(stack[-1])
        elif word == "}":
            stack.pop().last_call = len(step.calls) - 1
        elif word.startswith(">"):
            thread = AUTOGRAD if word == ">autograd" and not single_thread else MAIN
        elif word == "@sync":
            step.calls.append(Call("cudaStreamSynchronize_v3020", 2_000, thread))
        else:
            step.launch(word, thread)
    return step
