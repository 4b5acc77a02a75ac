// The kernels of `python -m workloads run kernels`: each shows one thing that a kernel report is read for.
// Compiled by cupy.RawModule; extern "C" keeps their names as they stand here. Counts are in floats unless said.

// One step of a chain of multiply-adds: x moves toward 1 by (1 - factor). kernel_cases.py has the closed form.
__device__ __forceinline__ float toward_one(float x, float step) { return fmaf(x, 1.0f - step, step); }

// Two reads and a write for one addition: as fast as the DRAM.
extern "C" __global__ void vector_add(const float4 *a, const float4 *b, float4 *sum, long long vectors) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) {
        const float4 x = a[i], y = b[i];
        sum[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    }
}

// One sum a block of 256 threads: each thread adds up its share, then a tree in shared memory adds up the threads.
extern "C" __global__ void reduction(const float4 *values, float *block_sums, long long vectors) {
    __shared__ float partial[256];
    const long long stride = (long long)gridDim.x * blockDim.x;
    float sum = 0.0f;
#pragma unroll 4
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += stride) {
        const float4 v = values[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) block_sums[blockIdx.x] = partial[0];
}

// Eight independent chains of multiply-adds a thread, all in registers: near the FP32 peak.
extern "C" __global__ void __launch_bounds__(256) compute_heavy(const float *start, float *out, long long iterations) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int rounds = (int)(iterations / 16); // iterations is a multiple of 16
    float chain[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) chain[k] = start[i] + k;
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int n = 0; n < 16; ++n) {
#pragma unroll
            for (int k = 0; k < 8; ++k) chain[k] = toward_one(chain[k], 1.0f / 4096);
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += chain[k];
    out[i] = sum;
}

// Neighboring threads read neighboring floats: 4 sectors of 32 bytes a warp.
extern "C" __global__ void coalesced(const float *in, float *out, long long count) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i];
}

// The same floats, down the columns of a matrix 32 floats wide: 32 sectors a warp. A sector's next float is read a whole
// pass over the matrix later, when no cache holds it any more.
extern "C" __global__ void uncoalesced(const float *in, float *out, long long count) {
    const unsigned blocks_per_column = gridDim.x / 32;
    const unsigned column = blockIdx.x / blocks_per_column;
    const long long row = (long long)(blockIdx.x % blocks_per_column) * blockDim.x + threadIdx.x;
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[row * 32 + column];
}

// Turns each tile around by way of shared memory. A tile is so large that few blocks fit an SM: too few warps to hide
// the latency of memory.
extern "C" __global__ void low_occupancy(const float *in, float *out, long long tile) {
    extern __shared__ float shared_tile[];
    const long long first = blockIdx.x * tile;
    for (int i = threadIdx.x; i < (int)tile; i += blockDim.x) shared_tile[i] = in[first + i];
    __syncthreads();
    for (int i = threadIdx.x; i < (int)tile; i += blockDim.x) out[first + i] = shared_tile[(int)tile - 1 - i];
}

// Sixteen branches, one after the other, each taken by 2 of the 32 threads of a warp.
extern "C" __global__ void divergent(const float *start, float *out, long long iterations) {
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const int rounds = (int)iterations;
    float x = start[i];
#pragma unroll 1
    for (int branch = 0; branch < 16; ++branch) {
        if (threadIdx.x % 16 == branch) {
            const float step = (branch + 1) / 4096.0f;
#pragma unroll 4
            for (int n = 0; n < rounds; ++n) x = toward_one(x, step);
        }
    }
    out[i] = x;
}
