-- What PyTorch says beyond times: of operators, modules, Python calls, memory of tensors, collectives.
-- Operators, modules and annotations are rows of `range`; these tables add what is known of them.

-- Attributes of ranges that are operators, a row a range
CREATE TABLE operator (
    range_id BIGINT,                   -- range
    external_id BIGINT,                -- id by which calls and operations name the operator that they belong to
    event_index BIGINT,                -- number in the order in which the profiler saw operators begin
    sequence_number BIGINT,            -- autograd's number: the same for an operator and its backward ones
    forward_thread BIGINT,             -- autograd's number of its forward thread; 0 or NULL: no backward operator
    forward_range_id BIGINT,           -- of a backward operator, the range of its forward one
    dims_id BIGINT,                    -- string: sizes of the inputs, a JSON list of lists
    types_id BIGINT,                   -- string: types of the inputs, a JSON list
    strides_id BIGINT,                 -- string: strides of the inputs in elements, a JSON list of lists
    values_id BIGINT,                  -- string: inputs that are no tensors, a JSON list of texts
    flops BIGINT,                      -- floating-point operations, as with_flops counts them
    stack_id BIGINT,                   -- string: Python frames around it, the innermost first, by semicolons
    backend_id BIGINT,                 -- string: what compiled the kernel that it runs, for example triton
    kernel_hash_id BIGINT              -- string: key of that kernel in the compiler's cache
);

-- Ranges that are calls of a module's forward, a row a range
CREATE TABLE module_call (
    range_id BIGINT,                   -- range
    class VARCHAR,                     -- class of the module, for example Linear
    module_id BIGINT,                  -- number of the module among those of its class
    python_id BIGINT                   -- python_call
);

-- Calls of Python functions, modules among them: they nest on their thread
CREATE TABLE python_call (
    python_id BIGINT,                  -- number of the call in its thread's trace
    parent_id BIGINT,                  -- call that it was called from, NULL for an outermost one
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT                     -- string: file(line): function, or a built-in function
);

-- Memory of tensors: allocations and releases by the framework's allocator, a row each. Of memory snapshots also what
-- the allocator took from the device and gave back, what was held before their first event, and when they were taken
CREATE TABLE tensor_event (
    event_id BIGINT,                   -- row in the order of the trace
    time_ns BIGINT,                    -- moment on the host, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range open on its thread
    kind VARCHAR,                      -- memory, out_of_memory; of snapshots segment, before, state
    device_type INTEGER,               -- 0 CPU, 1 CUDA, else as c10::DeviceType counts
    device_id INTEGER,                 -- GPU; NULL for the CPU
    address UBIGINT,                   -- address of the memory
    bytes BIGINT,                      -- size, bytes: positive for an allocation, negative for a release
    allocated_bytes BIGINT,            -- what tensors hold on the device afterward, bytes
    reserved_bytes BIGINT,             -- what the allocator holds of the device afterward, bytes
    stack_id BIGINT                    -- stack of python_frame, snapshots only
);

-- What the allocator held of a device when a memory snapshot was taken, a row a segment
CREATE TABLE tensor_segment (
    segment_id BIGINT,                 -- row in the order of the snapshot
    device_id INTEGER,                 -- GPU
    address UBIGINT,                   -- address of its first byte
    bytes BIGINT,                      -- size, bytes
    allocated_bytes BIGINT,            -- size of the blocks that tensors held, bytes
    active_bytes BIGINT,               -- the same with those that a stream still used after their release, bytes
    requested_bytes BIGINT,            -- what was asked for in active blocks: the allocator rounds up, bytes
    stream UBIGINT,                    -- CUDA stream that it serves; 0 is the default one
    type VARCHAR,                      -- small, large: of which of the allocator's pools
    pool VARCHAR,                      -- numbers of a private pool, as of a CUDA graph; NULL for that of all others
    is_expandable BOOLEAN,             -- it grows and shrinks (expandable_segments)
    stack_id BIGINT                    -- stack of python_frame that made the allocator take it, where captured
);

-- How each segment was divided when the snapshot was taken, a row a block
CREATE TABLE tensor_block (
    segment_id BIGINT,                 -- tensor_segment
    address UBIGINT,                   -- address of its first byte
    bytes BIGINT,                      -- size, bytes
    requested_bytes BIGINT,            -- what was asked for: the allocator rounds up, bytes
    state VARCHAR,                     -- active_allocated, active_awaiting_free, inactive
    stack_id BIGINT                    -- stack of python_frame that allocated it, where captured
);

-- What is known of collectives, a row an operator or a kernel
CREATE TABLE collective (
    range_id BIGINT,                   -- range of the operator; NULL in a row of a kernel
    kernel_id BIGINT,                  -- kernel; NULL in a row of an operator
    name VARCHAR,                      -- for example allreduce
    process_group VARCHAR,             -- name of the process group
    description VARCHAR,               -- what the process group is for
    ranks VARCHAR,                     -- ranks of the group, a JSON list; a long one is cut by the profiler
    group_size BIGINT,                 -- ranks of the group
    sequence_number BIGINT,            -- number of the collective in its group: the same on all ranks
    communicator BIGINT,               -- identity of the communicator, where captured
    dtype VARCHAR,                     -- type of an element, as PyTorch calls it
    in_elements BIGINT,                -- elements of the input
    out_elements BIGINT,               -- elements of the output
    in_split VARCHAR,                  -- elements sent to each rank, a JSON list; empty where they are equal
    out_split VARCHAR,                 -- elements received of each rank, a JSON list
    src_rank INTEGER,                  -- rank that sends, point to point only
    dst_rank INTEGER                   -- rank that receives, point to point only
);

-- The distributed run that the process was a part of: one row, where the trace says so
CREATE TABLE distributed (
    rank INTEGER,                      -- rank of the process
    world_size INTEGER,                -- processes of the run
    backend VARCHAR,                   -- for example nccl
    nccl_version VARCHAR               -- version of NCCL
);

-- Process groups of the run
CREATE TABLE process_group (
    name VARCHAR,                      -- what collective.process_group refers to
    description VARCHAR,               -- what it is for
    backend VARCHAR,                   -- for example cuda:nccl
    size BIGINT,                       -- ranks of the group
    ranks VARCHAR                      -- ranks of the group, a JSON list
);

-- What the profiler estimates of kernels from their launch parameters, a row a kernel: nothing of it is measured
CREATE TABLE launch_estimate (
    kernel_id BIGINT,                  -- kernel
    blocks_per_sm DOUBLE,              -- blocks of the grid over the SMs of the GPU
    warps_per_sm DOUBLE,               -- warps of the grid over the SMs of the GPU
    occupancy_pct DOUBLE,              -- warps that an SM holds over those it can, percent; NULL: not known, or < 1
    shared_bytes BIGINT                -- shared memory of a block, declared and asked for at launch together, bytes
);
