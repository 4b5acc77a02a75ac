-- PyTorch facts beyond times: operators, modules, Python calls, tensor memory, collectives. Operators, modules and
-- annotations are rows of `range`; these tables add their attributes.

-- Attributes of ranges that are operators, one row per range
CREATE TABLE operator (
    range_id BIGINT,                   -- range
    external_id BIGINT,                -- id by which calls and operations refer to their operator
    event_index BIGINT,                -- number in the order in which the profiler saw operators start
    sequence_number BIGINT,            -- autograd's number: shared by an operator and its backward ones
    forward_thread BIGINT,             -- autograd's number of its forward thread; 0 or NULL: no backward operator
    forward_range_id BIGINT,           -- for a backward operator, the range of its forward one
    dims_id BIGINT,                    -- string: sizes of the inputs, a JSON list of lists
    types_id BIGINT,                   -- string: types of the inputs, a JSON list
    strides_id BIGINT,                 -- string: strides of the inputs in elements, a JSON list of lists
    values_id BIGINT,                  -- string: non-tensor inputs, a JSON list of texts
    flops BIGINT,                      -- floating-point operations, as counted by with_flops
    stack_id BIGINT,                   -- string: Python frames around it, innermost first, separated by semicolons
    backend_id BIGINT,                 -- string: compiler of its kernel, for example triton
    kernel_hash_id BIGINT              -- string: key of that kernel in the compiler's cache
);

-- Ranges that are calls of a module's forward, one row per range
CREATE TABLE module_call (
    range_id BIGINT,                   -- range
    class VARCHAR,                     -- class of the module, for example Linear
    module_id BIGINT,                  -- number of the module in its class
    python_id BIGINT                   -- python_call
);

-- Calls of Python functions, including modules: they nest on their thread
CREATE TABLE python_call (
    python_id BIGINT,                  -- number of the call in its thread's trace
    parent_id BIGINT,                  -- calling call, NULL for an outermost one
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT                     -- string: file(line): function, or a built-in function
);

-- Tensor memory: allocations and frees by the framework's allocator, one row each. Memory snapshots add the allocator's
-- device memory changes, the memory held before their first event, and their time
CREATE TABLE tensor_event (
    event_id BIGINT,                   -- row number in the trace
    time_ns BIGINT,                    -- time on the CPU, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range open on its thread
    kind VARCHAR,                      -- memory, out_of_memory; of snapshots segment, before, state
    device_type INTEGER,               -- 0 CPU, 1 CUDA, else as c10::DeviceType counts
    device_id INTEGER,                 -- GPU; NULL for the CPU
    address UBIGINT,                   -- address of the memory
    bytes BIGINT,                      -- size, bytes: positive for an allocation, negative for a free
    allocated_bytes BIGINT,            -- tensor memory on the device afterward, bytes
    reserved_bytes BIGINT,             -- allocator memory on the device afterward, bytes
    stack_id BIGINT                    -- stack of python_frame, snapshots only
);

-- Allocator memory of a device at the time of a memory snapshot, one row per segment
CREATE TABLE tensor_segment (
    segment_id BIGINT,                 -- row number in the snapshot
    device_id INTEGER,                 -- GPU
    address UBIGINT,                   -- address of the first byte
    bytes BIGINT,                      -- size, bytes
    allocated_bytes BIGINT,            -- size of the blocks held by tensors, bytes
    active_bytes BIGINT,               -- the same with blocks that a stream still used after their free, bytes
    requested_bytes BIGINT,            -- requested bytes in active blocks: the allocator rounds up
    stream UBIGINT,                    -- CUDA stream that it serves; 0 is the default one
    type VARCHAR,                      -- small, large: pool of the allocator
    pool VARCHAR,                      -- numbers of a private pool, as of a CUDA graph; NULL for the shared pool
    is_expandable BOOLEAN,             -- whether it grows and shrinks (expandable_segments)
    stack_id BIGINT                    -- stack of python_frame that made the allocator take it, if captured
);

-- Division of each segment at the time of the snapshot, one row per block
CREATE TABLE tensor_block (
    segment_id BIGINT,                 -- tensor_segment
    address UBIGINT,                   -- address of the first byte
    bytes BIGINT,                      -- size, bytes
    requested_bytes BIGINT,            -- requested bytes: the allocator rounds up
    state VARCHAR,                     -- active_allocated, active_awaiting_free, inactive
    stack_id BIGINT                    -- stack of python_frame that allocated it, if captured
);

-- Facts about collectives, one row per operator or kernel
CREATE TABLE collective (
    range_id BIGINT,                   -- range of the operator; NULL in a row of a kernel
    kernel_id BIGINT,                  -- kernel; NULL in a row of an operator
    name VARCHAR,                      -- for example allreduce
    process_group VARCHAR,             -- name of the process group
    description VARCHAR,               -- purpose of the process group
    ranks VARCHAR,                     -- ranks of the group, a JSON list; the profiler shortens a long one
    group_size BIGINT,                 -- ranks of the group
    sequence_number BIGINT,            -- number of the collective in its group, the same on all ranks
    communicator BIGINT,               -- identity of the communicator, if captured
    dtype VARCHAR,                     -- element type, in PyTorch's name
    in_elements BIGINT,                -- elements of the input
    out_elements BIGINT,               -- elements of the output
    in_split VARCHAR,                  -- elements sent to each rank, a JSON list; empty if equal
    out_split VARCHAR,                 -- elements received from each rank, a JSON list
    src_rank INTEGER,                  -- rank that sends, point to point only
    dst_rank INTEGER                   -- rank that receives, point to point only
);

-- The distributed run of the process: one row, if the trace states it
CREATE TABLE distributed (
    rank INTEGER,                      -- rank of the process
    world_size INTEGER,                -- number of processes in the run
    backend VARCHAR,                   -- for example nccl
    nccl_version VARCHAR               -- version of NCCL
);

-- Process groups of the run
CREATE TABLE process_group (
    name VARCHAR,                      -- target of collective.process_group
    description VARCHAR,               -- purpose of the group
    backend VARCHAR,                   -- for example cuda:nccl
    size BIGINT,                       -- ranks of the group
    ranks VARCHAR                      -- ranks of the group, a JSON list
);

-- The profiler's estimates for kernels from their launch parameters, one row per kernel: nothing is measured
CREATE TABLE launch_estimate (
    kernel_id BIGINT,                  -- kernel
    blocks_per_sm DOUBLE,              -- blocks of the grid over the SMs of the GPU
    warps_per_sm DOUBLE,               -- warps of the grid over the SMs of the GPU
    occupancy_pct DOUBLE,              -- warps per SM over the SM's maximum, percent; NULL: unknown, or < 1
    shared_bytes BIGINT                -- shared memory per block, static and dynamic, bytes
);

-- Performance counters of kernels that a capture has (AMD's rocprofv3), one row per counter
CREATE TABLE counter (
    counter_id INTEGER,                -- running number
    name VARCHAR,                      -- for example SQ_WAVES
    unit VARCHAR,                      -- unit of its values; NULL where the file states none
    description VARCHAR                -- its meaning as the file states it; NULL if it does not
);

-- Values of performance counters, one row per kernel and counter that was read for it
CREATE TABLE counter_value (
    kernel_id BIGINT,                  -- kernel
    counter_id INTEGER,                -- counter
    value DOUBLE                       -- sum over the parts of the GPU that it counts in
);

-- Sums by call path of a profile without times (Triton's proton), one row per path; NULL is a figure that a path lacks
CREATE TABLE path_sum (
    path_id BIGINT,                    -- running number, callers first
    last_id BIGINT,                    -- number of the last path below it
    parent_id BIGINT,                  -- path of its caller; NULL for an outermost one
    level INTEGER,                     -- number of callers
    name VARCHAR,                      -- function, scope or kernel
    name_id INTEGER,                   -- kernel_name, of kernels only
    device_type VARCHAR,               -- for example CUDA, of kernels only
    device_id INTEGER,                 -- GPU, of kernels only
    calls BIGINT,                      -- launches, of kernels only
    total_ns BIGINT,                   -- sum of the durations of its own launches, ns
    flops DOUBLE,                      -- floating-point operations stated for the path itself
    bytes DOUBLE,                      -- memory traffic stated for the path itself, bytes
    metrics_json VARCHAR               -- its other metrics, a JSON object
);
