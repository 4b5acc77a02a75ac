"""Array programs on the GPU: CuPy, Numba and JAX. They need a GPU, but for JAX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench.fault_programs.loop import ON_GPU, Loop, annotate, load_numba_cuda, program


@program("double_precision")
def kmeans(loop: Loop, mended: bool) -> None:
    """Cluster points in FP64, the type of CuPy's random numbers."""
    import cupy

    kind = cupy.float32 if mended else cupy.float64
    points = cupy.random.standard_normal((400_000, 32)).astype(kind)
    centers = points[:512].copy()
    loop.name = "lloyd {}"
    for _ in loop:
        with annotate("assign"):
            distance = (centers**2).sum(1) - 2 * (points @ centers.T)
            nearest = distance.argmin(1)
        with annotate("recenter"):
            sums = cupy.zeros_like(centers)
            cupy.add.at(sums, nearest, points)
            centers = sums / cupy.maximum(cupy.bincount(nearest, minlength=512), 1)[:, None].astype(kind)


@program("loss_read_each_step")
def conjugate_gradient(loop: Loop, mended: bool) -> None:
    """Copy the residual to the host in each iteration of a solver; mended, in the last one of twenty."""
    import cupy

    side = 1024
    b = cupy.random.standard_normal((side, side), dtype=cupy.float32)
    x, r, p = cupy.zeros_like(b), b.copy(), b.copy()
    laplace = cupy.ElementwiseKernel(
        "raw float32 p, int32 side", "float32 q",
        """int row = i / side, column = i % side;
        q = 4.01f * p[i] - (row ? p[i - side] : 0) - (row < side - 1 ? p[i + side] : 0)
            - (column ? p[i - 1] : 0) - (column < side - 1 ? p[i + 1] : 0);""",
        "laplace",
    )  # fmt: skip
    rr = (r * r).sum()
    loop.name = "solve {}"
    for _ in loop:
        for inner in range(20):
            with annotate("cg_iteration"):
                q = laplace(p, side, cupy.empty_like(p))
                alpha = rr / (p * q).sum()
                x += alpha * p
                r -= alpha * q
                new = (r * r).sum()
                if not mended or inner == 19:
                    float(new.get())
                p = r + (new / rr) * p
                rr = new


@program("allocation_in_each_step")
def spectral(loop: Loop, mended: bool) -> None:
    """Take the memory of each array from the driver instead of CuPy's pool."""
    import cupy

    if not mended:
        cupy.cuda.set_allocator(None)
    field = cupy.random.standard_normal((64, 512, 512), dtype=cupy.float32)
    wave = cupy.fft.fftfreq(512).astype(cupy.float32)
    decay = cupy.exp(-(wave[:, None] ** 2 + wave[None, :257] ** 2))
    loop.name = "time step {}"
    for _ in loop:
        with annotate("fft"):
            modes = cupy.fft.rfft2(field)
        with annotate("advance"):
            modes = modes * decay
            field = cupy.fft.irfft2(modes, s=(512, 512))
            field = field / cupy.abs(field).max()


@program("same_data_each_step")
def heat(loop: Loop, mended: bool) -> None:
    """Pass arrays of NumPy to a kernel, which Numba copies to the GPU and back in each call."""
    cuda = load_numba_cuda()

    @cuda.jit
    def diffuse(old: Any, new: Any) -> None:
        row, column = cuda.grid(2)
        if 0 < row < old.shape[0] - 1 and 0 < column < old.shape[1] - 1:
            around = old[row - 1, column] + old[row + 1, column] + old[row, column - 1] + old[row, column + 1]
            new[row, column] = 0.25 * around

    old = np.random.default_rng(1).random((2048, 2048), dtype=np.float32)
    new = old.copy()
    if mended:
        old, new = cuda.to_device(old), cuda.to_device(new)
    loop.name = "sweep {}"
    for _ in loop:
        with annotate("diffuse"):
            for _ in range(2):
                diffuse[(128, 128), (16, 16)](old, new)
                old, new = new, old


@program("low_occupancy")
def convolve(loop: Loop, mended: bool) -> None:
    """Start each block with 32 threads that need 100 KiB of shared memory; mended, blocks of 256 with 8 KiB."""
    import cupy

    count = 1 << 25
    threads, floats = (256, 2048) if mended else (32, 25_600)
    kernel = cupy.RawKernel(
        """extern "C" __global__ void smooth(const float *in, float *out, int count, int tile) {
            extern __shared__ float held[];
            long first = (long)blockIdx.x * tile;
            for (int i = threadIdx.x; i < tile && first + i < count; i += blockDim.x) held[i] = in[first + i];
            __syncthreads();
            for (int i = threadIdx.x; i < tile && first + i < count; i += blockDim.x) {
                float left = held[i ? i - 1 : 0], right = held[i < tile - 1 ? i + 1 : i];
                out[first + i] = 0.5f * held[i] + 0.25f * (left + right);
            }
        }""",
        "smooth",
    )
    kernel.max_dynamic_shared_size_bytes = 4 * floats
    signal = cupy.random.standard_normal(count, dtype=cupy.float32)
    out = cupy.empty_like(signal)
    loop.name = "filter {}"
    for _ in loop:
        for _ in range(6):
            kernel((math.ceil(count / floats),), (threads,), (signal, out, count, floats), shared_mem=4 * floats)


@program("shapes_that_recompile")
def jax_scores(loop: Loop, mended: bool) -> None:
    """Call a jitted function with sequences of another length each time; mended, filled up to the longest."""
    import jax
    from jax import numpy as jnp

    width = 1024 if ON_GPU else 64
    weights = [jnp.ones((width, width), jnp.bfloat16) * 0.01 for _ in range(4)]

    @jax.jit
    def score(tokens: Any, count: Any) -> Any:
        x = jnp.where(jnp.arange(tokens.shape[0])[:, None] < count, tokens, 0)
        for one in weights:
            x = jax.nn.gelu(x @ one)
        return (x.sum() / count).astype(jnp.float32)

    texts = [np.ones((1024 - 8 * number, width), np.float32) for number in range(loop.total)]
    inputs = [
        jnp.asarray(np.pad(one, ((0, 1024 - len(one)), (0, 0))) if mended else one, jnp.bfloat16) for one in texts
    ]
    loop.name = "document {}"
    for number in loop:
        with annotate("score"):
            score(inputs[number], len(texts[number])).block_until_ready()


@program("same_data_each_step")
def jax_training(loop: Loop, mended: bool) -> None:
    """Pass the whole data set as an array of NumPy to each step, which JAX copies; mended, it is put there once."""
    import jax
    from jax import numpy as jnp

    width = 2048 if ON_GPU else 32
    data: Any = np.random.default_rng(2).standard_normal((32_768 if ON_GPU else 64, width), dtype=np.float32)
    weights = [jnp.eye(width, dtype=jnp.float32) for _ in range(6)]
    if mended:
        data = jax.device_put(data)

    def loss(weights: Any, data: Any) -> Any:
        x = data[:8192]
        for one in weights:
            x = jnp.tanh(x @ one)
        return jnp.mean((x - data[:8192]) ** 2)

    @jax.jit
    def update(weights: Any, data: Any) -> Any:
        return [one - 0.01 * grad for one, grad in zip(weights, jax.grad(loss)(weights, data), strict=True)]

    loop.name = "epoch {}"
    for _ in loop:
        with annotate("update"):
            weights = update(weights, data)
    jax.block_until_ready(weights)
