-- The tables of a report. Times are nanoseconds on the profiler's clock, counted from the start of the session.
-- A table that the capture did not fill is empty; further numbers of tables that nsys is known to write
-- are in the schema "raw"; texts that no table below takes may be secret and are not taken in.

-- One row: what was captured, with what, and what converted it
CREATE TABLE report (
    kind VARCHAR,                      -- nsys, ncu, torch, snapshot
    name VARCHAR,                      -- file name as it was dropped
    source_sha256 VARCHAR,             -- hash of the file that was dropped
    source_bytes BIGINT,               -- size of that file, bytes
    tool VARCHAR,                      -- profiler that captured, for example Nsight Systems
    tool_version VARCHAR,              -- its version, where the report tells
    converter VARCHAR,                 -- what read the file: program, version and road
    export_schema_version VARCHAR,     -- version of the nsys export schema
    captured_at TIMESTAMP,             -- begin of the session, UTC
    start_ns BIGINT,                   -- begin of the data, ns
    stop_ns BIGINT,                    -- end of the data, ns
    duration_ns BIGINT,                -- length of the capture as the profiler states it, ns
    command VARCHAR,                   -- program that was profiled, with its arguments
    driver_version VARCHAR,            -- version of the NVIDIA driver
    cuda_version VARCHAR,              -- CUDA version that the driver supports
    os VARCHAR,                        -- operating system of the machine
    cpu VARCHAR                        -- processor of the machine
);

-- Settings of the capture and of its export (EXPORT_*), a row each; environment variables are left out
CREATE TABLE capture_setting (
    name VARCHAR,                      -- name as the profiler writes it
    value VARCHAR                      -- value as the profiler writes it
);

-- Facts about the machine, a row each; the environment of the device is left out
CREATE TABLE system_info (
    name VARCHAR,                      -- name as the profiler writes it
    value VARCHAR                      -- value as the profiler writes it
);

-- GPUs of the machine, whether they were used or not
CREATE TABLE gpu (
    gpu_id INTEGER,                    -- number that device_id refers to
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
    max_warps_per_sm INTEGER,          -- warps that one SM holds at most
    max_blocks_per_sm INTEGER,         -- blocks that one SM holds at most
    max_threads_per_block INTEGER,     -- threads of a block at most
    max_registers_per_sm INTEGER,      -- 32-bit registers of an SM
    max_registers_per_block INTEGER,   -- 32-bit registers that a block takes at most
    max_shared_per_sm_bytes BIGINT,    -- shared memory of an SM, bytes
    max_shared_per_block_bytes BIGINT, -- shared memory that a block takes at most without opting in, bytes
    max_shared_per_block_optin_bytes BIGINT, -- shared memory that a block takes at most after opting in, bytes
    threads_per_warp INTEGER,          -- threads of a warp
    async_engines INTEGER              -- copy engines
);

-- Processes that were seen
CREATE TABLE process (
    global_pid BIGINT,                 -- identity over machines: what operations refer to
    pid BIGINT,                        -- process id of the operating system
    name VARCHAR                       -- program
);

-- Threads that were seen
CREATE TABLE thread (
    global_tid BIGINT,                 -- identity over machines: what calls and ranges refer to
    global_pid BIGINT,                 -- process of the thread
    pid BIGINT,                        -- process id of the operating system
    tid BIGINT,                        -- thread id of the operating system
    name VARCHAR,                      -- name of the thread, where it has one
    priority BIGINT                    -- priority with which the operating system runs it, where known
);

-- Texts that other tables refer to by id
CREATE TABLE string (
    string_id BIGINT,                  -- what *_id columns refer to
    value VARCHAR                      -- the text
);

-- Names and numbers of the profiler's enumerations
CREATE TABLE enum_value (
    enum VARCHAR,                      -- enumeration, for example CUDA_MEMCPY_OPER
    id BIGINT,                         -- number
    name VARCHAR,                      -- constant in the source
    label VARCHAR                      -- words for people
);

-- Names of kernels and the class of each
CREATE TABLE kernel_name (
    name_id INTEGER,                   -- what kernel.name_id refers to
    demangled VARCHAR,                 -- full name with template arguments
    short VARCHAR,                     -- name without templates and arguments
    mangled VARCHAR,                   -- name as the linker knows it, where captured
    class VARCHAR                      -- kernel class (classes.toml)
);

-- Kernels that ran, a row an execution
CREATE TABLE kernel (
    kernel_id BIGINT,                  -- row in the order of the export
    start_ns BIGINT,                   -- begin on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, where there is one
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    name_id INTEGER,                   -- kernel_name
    grid_x INTEGER,                    -- blocks in x
    grid_y INTEGER,                    -- blocks in y
    grid_z INTEGER,                    -- blocks in z
    block_x INTEGER,                   -- threads of a block in x
    block_y INTEGER,                   -- threads of a block in y
    block_z INTEGER,                   -- threads of a block in z
    cluster_x INTEGER,                 -- blocks of a cluster in x, where captured
    cluster_y INTEGER,                 -- blocks of a cluster in y, where captured
    cluster_z INTEGER,                 -- blocks of a cluster in z, where captured
    registers_per_thread INTEGER,      -- 32-bit registers of a thread
    static_shared_bytes INTEGER,       -- shared memory of a block, declared, bytes
    dynamic_shared_bytes INTEGER,      -- shared memory of a block, asked for at launch, bytes
    shared_executed_bytes BIGINT,      -- shared memory that the SM was set up for, bytes
    local_per_thread_bytes BIGINT,     -- local memory of a thread, bytes
    local_total_bytes BIGINT,          -- local memory of the launch, bytes
    launch_type INTEGER,               -- enum CUDA_KERNEL_LAUNCH_TYPE
    cache_config INTEGER,              -- enum CUDA_FUNC_CACHE_CONFIG
    shared_limit_config INTEGER,       -- enum CUDA_SHARED_MEM_LIMIT_CONFIG
    grid_id BIGINT,                    -- identity of the launch on its GPU
    graph_node_id BIGINT,              -- node of a CUDA graph, where it came from one
    graph_id BIGINT                    -- CUDA graph, where it came from one
);

-- Copies and memory sets on the GPU, a row an operation
CREATE TABLE memop (
    memop_id BIGINT,                   -- row in the order of the export, copies first
    kind VARCHAR,                      -- memcpy, memset
    operation VARCHAR,                 -- name as nsys prints it, for example [CUDA memcpy Host-to-Device]
    start_ns BIGINT,                   -- begin on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, where there is one
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    bytes BIGINT,                      -- size, bytes
    copy_kind INTEGER,                 -- enum CUDA_MEMCPY_OPER, copies only
    src_kind INTEGER,                  -- enum CUDA_MEM_KIND of the source, copies only
    dst_kind INTEGER,                  -- enum CUDA_MEM_KIND of the destination; of the memory that is set
    src_device_id INTEGER,             -- GPU of the source, copies between GPUs only
    src_context_id BIGINT,             -- context of the source, copies between GPUs only
    dst_device_id INTEGER,             -- GPU of the destination, copies between GPUs only
    dst_context_id BIGINT,             -- context of the destination, copies between GPUs only
    copy_count BIGINT,                 -- copies of a batch, where captured
    migration_cause INTEGER,           -- enum CUDA_UNIF_MEM_MIGRATION, unified memory only
    virtual_address BIGINT,            -- address, unified memory only
    value BIGINT,                      -- value that is set, memory sets only
    graph_node_id BIGINT               -- node of a CUDA graph, where it came from one
);

-- CUDA runtime and driver calls of the host
CREATE TABLE api_call (
    call_id BIGINT,                    -- row in the order of the export
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    correlation_id BIGINT,             -- joins the operations of the same process
    thread_range BIGINT,               -- range.pre of the innermost range around it on its own thread
    process_range BIGINT,              -- the same, or without one that of the thread that drives its thread
    name_id BIGINT,                    -- string: name with its version suffix
    event_class INTEGER,               -- enum NSYS_EVENT_CLASS: 0 runtime, 1 driver
    return_value INTEGER,              -- 0 is success
    callchain_id BIGINT                -- callchain of kind cuda
);

-- Synchronizations that CUDA carried out
CREATE TABLE sync (
    sync_id BIGINT,                    -- row in the order of the export
    start_ns BIGINT,                   -- begin, ns
    end_ns BIGINT,                     -- end, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, where there is one
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- joins the API call of the same process
    global_pid BIGINT,                 -- process
    sync_type INTEGER,                 -- enum CUPTI_SYNC_TYPE
    event_id BIGINT,                   -- CUDA event waited for
    event_sync_id BIGINT               -- identity of the event's recording, where captured
);

-- Calls into the operating system's libraries
CREATE TABLE osrt_call (
    call_id BIGINT,                    -- row in the order of the export
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range around it on its own thread
    name_id BIGINT,                    -- string: function
    event_class INTEGER,               -- enum NSYS_EVENT_CLASS: 27 is a call
    return_value INTEGER,              -- what the function returned
    nesting_level INTEGER,             -- calls inside calls
    callchain_id BIGINT,               -- callchain of kind osrt
    arguments_id BIGINT                -- string: arguments, where captured
);

-- MPI calls
CREATE TABLE mpi_call (
    call_id BIGINT,                    -- running number: p2p, start_wait, other, collective, each as exported
    kind VARCHAR,                      -- p2p, start_wait, other, collective
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns; NULL where the export has none
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

-- OpenACC events of the host
CREATE TABLE openacc_event (
    event_id BIGINT,                   -- running number: data, launch, other, each as exported
    kind VARCHAR,                      -- data, launch, other
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT,                    -- string: event, for example Enqueue Launch
    event_kind INTEGER,                -- enum OPENACC_EVENT_KIND
    device_type INTEGER,               -- enum OPENACC_DEVICE
    source_id BIGINT,                  -- string: source file of the directive, where known
    line INTEGER,                      -- line of the directive
    function_id BIGINT,                -- string: function with the directive, where known
    device_id INTEGER,                 -- GPU, where device_type is NVIDIA
    context_id BIGINT,                 -- CUDA context, where device_type is NVIDIA
    stream_id BIGINT,                  -- CUDA stream, where device_type is NVIDIA
    bytes BIGINT,                      -- size, bytes, data only
    variable_id BIGINT,                -- string: variable, data only
    gangs BIGINT,                      -- gangs of the kernel, launches only
    workers BIGINT,                    -- workers of a gang, launches only
    vector_length BIGINT,              -- vector lanes of a worker, launches only
    kernel_name_id BIGINT              -- string: kernel, launches only
);

-- OpenMP events of the host, as the runtime reports them; nsys ends some of those that were not closed
CREATE TABLE openmp_event (
    event_id BIGINT,                   -- running number: kind after kind by name, each as exported
    kind VARCHAR,                      -- table of the export: parallel, task, sync_region, mutex_wait, workshare ...
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    thread_range BIGINT,               -- range.pre of the innermost range around its begin on its own thread
    name_id BIGINT,                    -- string: event, for example Implicit Barrier
    event_kind INTEGER,                -- enum OPENMP_EVENT_KIND
    detail BIGINT,                     -- enum of the kind: OPENMP_SYNC_REGION, _TASK_FLAG, _WORK, _MUTEX, _THREAD ...
    parallel_id BIGINT,                -- parallel region of the process that it belongs to; 0 or NULL where not known
    task_id BIGINT,                    -- task that it belongs to, or that was created
    parent_task_id BIGINT,             -- task that created it
    wait_id BIGINT,                    -- lock or critical section, where one is waited for or held
    amount BIGINT                      -- iterations or other units of the work, where it is shared
);

-- NCCL operations as the library itself reports them
CREATE TABLE nccl_call (
    call_id BIGINT,                    -- running number
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns
    global_tid BIGINT,                 -- thread
    name VARCHAR,                      -- operation, for example ncclAllReduce
    payload_json VARCHAR               -- what NCCL says of it: bytes, communicator, ranks
);

-- Whole CUDA graphs, where the capture did not trace their nodes
CREATE TABLE graph_launch (
    launch_id BIGINT,                  -- row in the order of the export
    start_ns BIGINT,                   -- begin on the GPU, ns
    end_ns BIGINT,                     -- end on the GPU, ns
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    green_context_id BIGINT,           -- green context, where there is one
    stream_id BIGINT,                  -- CUDA stream
    correlation_id BIGINT,             -- joins the API call of the same process
    global_pid BIGINT,                 -- process
    call_id BIGINT,                    -- api_call that launched it
    thread_range BIGINT,               -- thread_range of that call
    process_range BIGINT,              -- process_range of that call
    graph_id BIGINT,                   -- CUDA graph
    graph_exec_id BIGINT               -- instance of the graph that was launched
);

-- Allocations and releases of GPU memory
CREATE TABLE memory_event (
    event_id BIGINT,                   -- row in the order of the export
    time_ns BIGINT,                    -- moment, ns
    global_pid BIGINT,                 -- process
    device_id INTEGER,                 -- GPU
    context_id BIGINT,                 -- CUDA context
    stream_id BIGINT,                  -- CUDA stream
    address UBIGINT,                   -- address of the memory
    bytes BIGINT,                      -- size, bytes
    mem_kind INTEGER,                  -- enum CUDA_MEM_KIND
    operation INTEGER,                 -- enum CUDA_DEV_MEM_EVENT_OPER: 0 allocation, 1 release
    name VARCHAR,                      -- variable, static memory only
    correlation_id BIGINT,             -- joins the API call of the same process
    pool_address UBIGINT,              -- memory pool
    pool_bytes BIGINT,                 -- size of the pool, bytes
    pool_used_bytes BIGINT             -- used part of the pool, bytes
);

-- Page faults of the CPU in unified memory
CREATE TABLE um_cpu_page_fault (
    fault_id BIGINT,                   -- row in the order of the export
    time_ns BIGINT,                    -- moment, ns
    global_pid BIGINT,                 -- process
    address UBIGINT,                   -- address of the page
    pc UBIGINT,                        -- address of the instruction, where captured
    function_id BIGINT,                -- string: function of the instruction
    module_id BIGINT,                  -- string: library of the instruction
    unresolved BOOLEAN                 -- no symbol was found
);

-- Page faults of GPUs in unified memory, a row a group of faults in the same page
CREATE TABLE um_gpu_page_fault (
    fault_id BIGINT,                   -- row in the order of the export
    start_ns BIGINT,                   -- begin, ns
    end_ns BIGINT,                     -- end, ns
    global_pid BIGINT,                 -- process
    device_id INTEGER,                 -- GPU
    address UBIGINT,                   -- address of the page
    faults BIGINT,                     -- number of faults
    access_type INTEGER                -- enum CUDA_UNIF_MEM_ACCESS_TYPE
);

-- GPU metrics that were sampled: names and columns; the samples are in gpu_metric, a column each
CREATE TABLE gpu_metric_name (
    gpu_id INTEGER,                    -- GPU
    metric_id INTEGER,                 -- number of the metric on that GPU
    name VARCHAR,                      -- name, and column of gpu_metric
    type_id BIGINT                     -- key of GPU and source in the export
);

-- GPU metrics, a row a GPU and moment, to which a column is added for each metric of gpu_metric_name
CREATE TABLE gpu_metric (
    gpu_id INTEGER,                    -- GPU
    time_ns BIGINT                     -- moment of the sample, ns
);

-- CPU scheduling: threads put on and taken off a core
CREATE TABLE sched_event (
    time_ns BIGINT,                    -- moment, ns
    cpu INTEGER,                       -- core
    scheduled_in BOOLEAN,              -- true: the thread begins to run
    global_tid BIGINT,                 -- thread
    thread_state INTEGER,              -- enum SAMPLING_THREAD_STATE, where captured
    thread_block INTEGER               -- why the thread blocks, where captured
);

-- CPU samples
CREATE TABLE cpu_sample (
    sample_id BIGINT,                  -- callchain of kind sample
    time_ns BIGINT,                    -- moment, ns
    cpu INTEGER,                       -- core
    global_tid BIGINT,                 -- thread
    thread_state INTEGER,              -- enum SAMPLING_THREAD_STATE
    cpu_cycles BIGINT                  -- cycles since the sample before
);

-- Call chains, a row a frame
CREATE TABLE callchain (
    kind VARCHAR,                      -- sample, osrt, cuda
    callchain_id BIGINT,               -- chain
    depth INTEGER,                     -- 0 is the innermost frame
    symbol_id BIGINT,                  -- string: function
    module_id BIGINT,                  -- string: library
    kernel_mode BOOLEAN,               -- frame of the operating system
    unresolved BOOLEAN,                -- no symbol was found
    address UBIGINT                    -- instruction pointer
);

-- Python stacks: samples of a thread in equal intervals, and back traces of CUDA calls
CREATE TABLE python_sample (
    kind VARCHAR,                      -- sample, cuda: taken as the call began that starts at this moment
    time_ns BIGINT,                    -- moment, ns
    global_tid BIGINT,                 -- thread
    thread_state VARCHAR,              -- state of the thread, as the profiler calls it
    stack_id BIGINT                    -- stack of python_frame
);

-- Frames of Python stacks, a row a frame
CREATE TABLE python_frame (
    stack_id BIGINT,                   -- stack; the same for all samples with the same frames
    depth INTEGER,                     -- 0 is the innermost frame
    "function" VARCHAR,                -- function
    file VARCHAR,                      -- path of its source
    line INTEGER                       -- line in it, from 1
);

-- Time that the profiler itself took on the host
CREATE TABLE profiler_overhead (
    start_ns BIGINT,                   -- begin, ns
    end_ns BIGINT,                     -- end, ns
    global_tid BIGINT,                 -- thread
    name_id BIGINT,                    -- string: what it did
    overhead_type INTEGER,             -- enum of the profiler, where captured
    return_value INTEGER               -- result of the call that flushed, where captured
);

-- Intervals in which a GPU ran at least one kernel, copy, memory set or whole graph: the union, without overlap
CREATE TABLE busy (
    device_id INTEGER,                 -- GPU
    start_ns BIGINT,                   -- begin, ns
    end_ns BIGINT                      -- end, ns
);

-- What the profiler or the conversion has to say about this report
CREATE TABLE diagnostic (
    time_ns BIGINT,                    -- moment, ns, where it has one
    severity VARCHAR,                  -- info, warning, error
    source VARCHAR,                    -- warpdeck, or the profiler's part that speaks
    global_pid BIGINT,                 -- process, where it has one
    text VARCHAR                       -- the message
);

-- Rows of the export that no table takes because their times are impossible
CREATE TABLE rejected_row (
    source VARCHAR,                    -- table of the export
    reason VARCHAR,                    -- what is wrong with it
    row_json VARCHAR                   -- the row
);

-- Analyses whose answer is in the schema "result", in a table of their name
CREATE TABLE stored_result (
    name VARCHAR,                      -- analysis
    fingerprint VARCHAR                -- hash of the SQL that made it
);
