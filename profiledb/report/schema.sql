-- The tables of a report. Times are nanoseconds on the profiler's clock, counted from the start of the session. A table
-- that the capture did not fill is empty; further numbers of known nsys tables are in the schema "raw"; texts without a
-- table below may be secret and are not imported.

-- One row: content, profiler and converter of the capture
CREATE TABLE report (
    kind VARCHAR,                      -- nsys, ncu, torch, snapshot
    name VARCHAR,                      -- original file name
    source_sha256 VARCHAR,             -- hash of the original file
    source_bytes BIGINT,               -- size of the original file, bytes
    tool VARCHAR,                      -- profiler of the capture, for example Nsight Systems
    tool_version VARCHAR,              -- version of the profiler, if the report states it
    converter VARCHAR,                 -- reader of the file: program, version and road
    export_schema_version VARCHAR,     -- version of the nsys export schema
    captured_at TIMESTAMP,             -- start of the session, UTC
    start_ns BIGINT,                   -- start of the data, ns
    stop_ns BIGINT,                    -- end of the data, ns
    duration_ns BIGINT,                -- length of the capture, as stated by the profiler, ns
    command VARCHAR,                   -- profiled program, with its arguments
    driver_version VARCHAR,            -- version of the NVIDIA driver
    cuda_version VARCHAR,              -- CUDA version that the driver supports
    os VARCHAR,                        -- operating system of the machine
    cpu VARCHAR                        -- processor of the machine
);

-- Settings of the capture and of its export (EXPORT_*), one row each; environment variables are left out
CREATE TABLE capture_setting (
    name VARCHAR,                      -- the profiler's name
    value VARCHAR                      -- the profiler's value
);

-- Facts about the machine, one row each; the environment of the device is left out
CREATE TABLE system_info (
    name VARCHAR,                      -- the profiler's name
    value VARCHAR                      -- the profiler's value
);

-- GPUs of the machine, used or not
CREATE TABLE gpu (
    gpu_id INTEGER,                    -- GPU number, target of device_id
    name VARCHAR,                      -- product name
    chip VARCHAR,                      -- chip name, for example GH100
    uuid VARCHAR,                      -- identity of the board
    bus VARCHAR,                       -- PCI bus location
    compute_capability VARCHAR,        -- major.minor
    sm_count INTEGER,                  -- streaming multiprocessors
    clock_hz BIGINT,                   -- highest SM clock, Hz
    memory_bytes BIGINT,               -- device memory, bytes
    memory_bandwidth_bytes_per_s BIGINT, -- peak of the device memory, bytes per second
    l2_bytes BIGINT,                   -- L2 cache, bytes
    max_warps_per_sm INTEGER,          -- maximum warps per SM
    max_blocks_per_sm INTEGER,         -- maximum blocks per SM
    max_threads_per_block INTEGER,     -- maximum threads per block
    max_registers_per_sm INTEGER,      -- 32-bit registers per SM
    max_registers_per_block INTEGER,   -- maximum 32-bit registers per block
    max_shared_per_sm_bytes BIGINT,    -- shared memory per SM, bytes
    max_shared_per_block_bytes BIGINT, -- maximum shared memory per block without opt-in, bytes
    max_shared_per_block_optin_bytes BIGINT, -- maximum shared memory per block with opt-in, bytes
    threads_per_warp INTEGER,          -- threads per warp
    async_engines INTEGER              -- copy engines
);

-- Recorded processes
CREATE TABLE process (
    global_pid BIGINT,                 -- identity across machines: operations refer to it
    pid BIGINT,                        -- process id of the operating system
    name VARCHAR                       -- program of the process
);

-- Recorded threads
CREATE TABLE thread (
    global_tid BIGINT,                 -- identity across machines: calls and ranges refer to it
    global_pid BIGINT,                 -- process of the thread
    pid BIGINT,                        -- process id of the operating system
    tid BIGINT,                        -- thread id of the operating system
    name VARCHAR,                      -- name of the thread, if any
    priority BIGINT                    -- OS scheduling priority, if known
);

-- Texts that other tables refer to by id
CREATE TABLE string (
    string_id BIGINT,                  -- target of *_id columns
    value VARCHAR                      -- the text
);

-- Names and numbers of the profiler's enumerations
CREATE TABLE enum_value (
    enum VARCHAR,                      -- enumeration, for example CUDA_MEMCPY_OPER
    id BIGINT,                         -- number
    name VARCHAR,                      -- constant in the source
    label VARCHAR                      -- readable name
);

-- Names of kernels and their classes
CREATE TABLE kernel_name (
    name_id INTEGER,                   -- target of kernel.name_id
    demangled VARCHAR,                 -- full name with template arguments
    short VARCHAR,                     -- name without templates and arguments
    mangled VARCHAR,                   -- mangled name, if captured
    class VARCHAR                      -- kernel class (classes.toml)
);

-- Kernels, one row per execution
CREATE TABLE kernel (
    kernel_id BIGINT,                  -- row number in the export
    start_ns BIGINT,                   -- start on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, if any
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- correlation id, joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    name_id INTEGER,                   -- kernel_name
    grid_x INTEGER,                    -- blocks in x
    grid_y INTEGER,                    -- blocks in y
    grid_z INTEGER,                    -- blocks in z
    block_x INTEGER,                   -- threads per block in x
    block_y INTEGER,                   -- threads per block in y
    block_z INTEGER,                   -- threads per block in z
    cluster_x INTEGER,                 -- blocks per cluster in x, if captured
    cluster_y INTEGER,                 -- blocks per cluster in y, if captured
    cluster_z INTEGER,                 -- blocks per cluster in z, if captured
    registers_per_thread INTEGER,      -- 32-bit registers per thread
    static_shared_bytes INTEGER,       -- static shared memory per block, bytes
    dynamic_shared_bytes INTEGER,      -- dynamic shared memory per block, bytes
    shared_executed_bytes BIGINT,      -- shared memory configured on the SM, bytes
    local_per_thread_bytes BIGINT,     -- local memory per thread, bytes
    local_total_bytes BIGINT,          -- local memory of the launch, bytes
    launch_type INTEGER,               -- enum CUDA_KERNEL_LAUNCH_TYPE
    cache_config INTEGER,              -- enum CUDA_FUNC_CACHE_CONFIG
    shared_limit_config INTEGER,       -- enum CUDA_SHARED_MEM_LIMIT_CONFIG
    grid_id BIGINT,                    -- identity of the launch on its GPU
    graph_node_id BIGINT,              -- CUDA graph node, if any
    graph_id BIGINT                    -- CUDA graph, if any
);

-- Copies and memsets on the GPU, one row per operation
CREATE TABLE memop (
    memop_id BIGINT,                   -- row number in the export, copies first
    kind VARCHAR,                      -- memcpy, memset
    operation VARCHAR,                 -- nsys name, for example [CUDA memcpy Host-to-Device]
    start_ns BIGINT,                   -- start on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, if any
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- correlation id, joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    bytes BIGINT,                      -- size, bytes
    copy_kind INTEGER,                 -- enum CUDA_MEMCPY_OPER, copies only
    src_kind INTEGER,                  -- enum CUDA_MEM_KIND of the source, copies only
    dst_kind INTEGER,                  -- enum CUDA_MEM_KIND of the destination, or of the memory that is set
    src_device_id INTEGER,             -- GPU of the source, copies between GPUs only
    src_context_id BIGINT,             -- context of the source, copies between GPUs only
    dst_device_id INTEGER,             -- GPU of the destination, copies between GPUs only
    dst_context_id BIGINT,             -- context of the destination, copies between GPUs only
    copy_count BIGINT,                 -- number of copies in a batch, if captured
    migration_cause INTEGER,           -- enum CUDA_UNIF_MEM_MIGRATION, unified memory only
    virtual_address BIGINT,            -- address, unified memory only
    value BIGINT,                      -- value that is set, memsets only
    graph_node_id BIGINT               -- CUDA graph node, if any
);

-- CUDA runtime and driver calls on the CPU
CREATE TABLE api_call (
    call_id BIGINT,                    -- row number in the export
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    correlation_id BIGINT,             -- correlation id, joins the operations of the same process
    thread_range BIGINT,               -- range.pre of the innermost range around it on its own thread
    process_range BIGINT,              -- the same, or else that of the thread that drives its thread
    name_id BIGINT,                    -- string: name with its version suffix
    event_class INTEGER,               -- enum NSYS_EVENT_CLASS: 0 runtime, 1 driver
    return_value INTEGER,              -- 0 is success
    callchain_id BIGINT                -- callchain of kind cuda
);

-- Synchronizations carried out by CUDA
CREATE TABLE sync (
    sync_id BIGINT,                    -- row number in the export
    start_ns BIGINT,                   -- start, ns
    end_ns BIGINT,                     -- end, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, if any
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- correlation id, joins the API call of the same process
    global_pid BIGINT,                 -- process
    sync_type INTEGER,                 -- enum CUPTI_SYNC_TYPE
    event_id BIGINT,                   -- CUDA event waited for
    event_sync_id BIGINT               -- identity of the event's recording, if captured
);

-- Calls into the OS libraries
CREATE TABLE osrt_call (
    call_id BIGINT,                    -- row number in the export
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range around it on its own thread
    name_id BIGINT,                    -- string: function
    event_class INTEGER,               -- enum NSYS_EVENT_CLASS: 27 is a call
    return_value INTEGER,              -- return value of the function
    nesting_level INTEGER,             -- nesting of calls
    callchain_id BIGINT,               -- callchain of kind osrt
    arguments_id BIGINT                -- string: arguments, if captured
);

-- MPI calls
CREATE TABLE mpi_call (
    call_id BIGINT,                    -- running number: p2p, start_wait, other, collective, each as exported
    kind VARCHAR,                      -- p2p, start_wait, other, collective
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns; NULL if the export has none
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range around it on its own thread
    name_id BIGINT,                    -- string: function
    communicator BIGINT,               -- handle of the communicator
    rank INTEGER,                      -- remote rank, or the root of a collective
    tag INTEGER,                       -- tag of the message
    bytes BIGINT,                      -- size sent, bytes
    received_bytes BIGINT              -- size received, bytes, collectives only
);

-- MPI ranks of threads
CREATE TABLE mpi_rank (
    global_tid BIGINT,                 -- thread
    rank INTEGER                       -- its own rank
);

-- OpenACC events on the CPU
CREATE TABLE openacc_event (
    event_id BIGINT,                   -- running number: data, launch, other, each as exported
    kind VARCHAR,                      -- data, launch, other
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT,                    -- string: event, for example Enqueue Launch
    event_kind INTEGER,                -- enum OPENACC_EVENT_KIND
    device_type INTEGER,               -- enum OPENACC_DEVICE
    source_id BIGINT,                  -- string: source file of the directive, if known
    line INTEGER,                      -- line of the directive
    function_id BIGINT,                -- string: function with the directive, if known
    device_id INTEGER,                 -- GPU, if device_type is NVIDIA
    context_id BIGINT,                 -- CUDA context, if device_type is NVIDIA
    stream_id BIGINT,                  -- CUDA stream, if device_type is NVIDIA
    bytes BIGINT,                      -- size, bytes, data only
    variable_id BIGINT,                -- string: variable, data only
    gangs BIGINT,                      -- gangs of the kernel, launches only
    workers BIGINT,                    -- workers per gang, launches only
    vector_length BIGINT,              -- vector lanes per worker, launches only
    kernel_name_id BIGINT              -- string: kernel, launches only
);

-- OpenMP events on the CPU, as reported by the runtime; nsys ends some unclosed ones
CREATE TABLE openmp_event (
    event_id BIGINT,                   -- running number: by kind in name order, each as exported
    kind VARCHAR,                      -- table of the export: parallel, task, sync_region, mutex_wait, workshare ...
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range around its start on its own thread
    name_id BIGINT,                    -- string: event, for example Implicit Barrier
    event_kind INTEGER,                -- enum OPENMP_EVENT_KIND
    detail BIGINT,                     -- enum of the kind: OPENMP_SYNC_REGION, _TASK_FLAG, _WORK, _MUTEX, _THREAD ...
    parallel_id BIGINT,                -- its parallel region in the process; 0 or NULL if unknown
    task_id BIGINT,                    -- its task, or the created task
    parent_task_id BIGINT,             -- task that created this one
    wait_id BIGINT,                    -- lock or critical section that is waited for or held
    amount BIGINT                      -- iterations or other units of shared work
);

-- NCCL operations as reported by NCCL
CREATE TABLE nccl_call (
    call_id BIGINT,                    -- running number
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns
    global_tid BIGINT,                 -- thread
    name VARCHAR,                      -- operation, for example ncclAllReduce
    payload_json VARCHAR               -- NCCL's facts: bytes, communicator, ranks
);

-- Whole CUDA graphs, if the capture did not trace their nodes
CREATE TABLE graph_launch (
    launch_id BIGINT,                  -- row number in the export
    start_ns BIGINT,                   -- start on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, if any
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- correlation id, joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    graph_id BIGINT,                   -- CUDA graph
    graph_exec_id BIGINT               -- launched instance of the graph
);

-- Allocations and frees of GPU memory
CREATE TABLE memory_event (
    event_id BIGINT,                   -- row number in the export
    time_ns BIGINT,                    -- time, ns
    global_pid BIGINT,                 -- process
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    stream_id BIGINT,                  -- CUDA stream
    address UBIGINT,                   -- address of the memory
    bytes BIGINT,                      -- size, bytes
    mem_kind INTEGER,                  -- enum CUDA_MEM_KIND
    operation INTEGER,                 -- enum CUDA_DEV_MEM_EVENT_OPER: 0 allocation, 1 free
    name VARCHAR,                      -- variable, static memory only
    correlation_id BIGINT,             -- correlation id, joins the API call of the same process
    pool_address UBIGINT,              -- memory pool
    pool_bytes BIGINT,                 -- size of the pool, bytes
    pool_used_bytes BIGINT             -- used part of the pool, bytes
);

-- CPU page faults in unified memory
CREATE TABLE um_cpu_page_fault (
    fault_id BIGINT,                   -- row number in the export
    time_ns BIGINT,                    -- time, ns
    global_pid BIGINT,                 -- process
    address UBIGINT,                   -- address of the page
    pc UBIGINT,                        -- address of the instruction, if captured
    function_id BIGINT,                -- string: function of the instruction
    module_id BIGINT,                  -- string: library of the instruction
    unresolved BOOLEAN                 -- true if no symbol was found
);

-- GPU page faults in unified memory, one row per group of faults in the same page
CREATE TABLE um_gpu_page_fault (
    fault_id BIGINT,                   -- row number in the export
    start_ns BIGINT,                   -- start, ns
    end_ns BIGINT,                     -- end, ns
    global_pid BIGINT,                 -- process
    device_id INTEGER,                 -- GPU
    address UBIGINT,                   -- address of the page
    faults BIGINT,                     -- number of faults
    access_type INTEGER                -- enum CUDA_UNIF_MEM_ACCESS_TYPE
);

-- Sampled GPU metrics: names and columns; gpu_metric has the samples, one column each
CREATE TABLE gpu_metric_name (
    gpu_id INTEGER,                    -- GPU
    metric_id INTEGER,                 -- number of the metric on that GPU
    name VARCHAR,                      -- name, and column of gpu_metric
    type_id BIGINT                     -- key of GPU and source in the export
);

-- GPU metrics, one row per GPU and time, with one additional column per metric of gpu_metric_name
CREATE TABLE gpu_metric (
    gpu_id INTEGER,                    -- GPU
    time_ns BIGINT                     -- time of the sample, ns
);

-- CPU scheduling: threads put on and taken off a core
CREATE TABLE sched_event (
    time_ns BIGINT,                    -- time, ns
    cpu INTEGER,                       -- core
    scheduled_in BOOLEAN,              -- true: the thread starts to run
    global_tid BIGINT,                 -- thread
    thread_state INTEGER,              -- enum SAMPLING_THREAD_STATE, if captured
    thread_block INTEGER               -- reason for blocking, if captured
);

-- CPU samples
CREATE TABLE cpu_sample (
    sample_id BIGINT,                  -- callchain of kind sample
    time_ns BIGINT,                    -- time, ns
    cpu INTEGER,                       -- core
    global_tid BIGINT,                 -- thread
    thread_state INTEGER,              -- enum SAMPLING_THREAD_STATE
    cpu_cycles BIGINT                  -- cycles since the previous sample
);

-- Call chains, one row per frame
CREATE TABLE callchain (
    kind VARCHAR,                      -- sample, osrt, cuda
    callchain_id BIGINT,               -- chain
    depth INTEGER,                     -- 0 is the innermost frame
    symbol_id BIGINT,                  -- string: function
    module_id BIGINT,                  -- string: library
    kernel_mode BOOLEAN,               -- frame of the operating system
    unresolved BOOLEAN,                -- true if no symbol was found
    address UBIGINT                    -- instruction pointer
);

-- Python stacks: samples of a thread at equal intervals, and call stacks of CUDA calls
CREATE TABLE python_sample (
    kind VARCHAR,                      -- sample, cuda: taken at the start of the call that starts at this time
    time_ns BIGINT,                    -- time, ns
    global_tid BIGINT,                 -- thread
    thread_state VARCHAR,              -- thread state, in the profiler's name
    stack_id BIGINT                    -- stack of python_frame
);

-- Frames of Python stacks, one row per frame
CREATE TABLE python_frame (
    stack_id BIGINT,                   -- stack; the same for all samples with the same frames
    depth INTEGER,                     -- 0 is the innermost frame
    "function" VARCHAR,                -- function
    file VARCHAR,                      -- path of its source file
    line INTEGER                       -- source line, from 1
);

-- Profiler overhead on the CPU
CREATE TABLE profiler_overhead (
    start_ns BIGINT,                   -- start, ns
    end_ns BIGINT,                     -- end, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT,                    -- string: activity of the profiler
    overhead_type INTEGER,             -- enum of the profiler, if captured
    return_value INTEGER               -- result of the call that flushed, if captured
);

-- Intervals in which a GPU ran at least one kernel, copy, memset or whole graph: the union, without overlap
CREATE TABLE busy (
    device_id INTEGER,                 -- GPU
    start_ns BIGINT,                   -- start, ns
    end_ns BIGINT                      -- end, ns
);

-- Messages of the profiler or the conversion about this report
CREATE TABLE diagnostic (
    time_ns BIGINT,                    -- time, ns, if any
    severity VARCHAR,                  -- info, warning, error
    source VARCHAR,                    -- warpdeck, or the reporting part of the profiler
    global_pid BIGINT,                 -- process, if any
    text VARCHAR                       -- the message
);

-- Rows of the export that were rejected because their times are impossible
CREATE TABLE rejected_row (
    source VARCHAR,                    -- table of the export
    reason VARCHAR,                    -- reason for the rejection
    row_json VARCHAR                   -- the row
);

-- Analyses with an answer in the schema "result", in a table of their name
CREATE TABLE stored_result (
    name VARCHAR,                      -- analysis
    fingerprint VARCHAR                -- hash of the SQL behind the answer
);
