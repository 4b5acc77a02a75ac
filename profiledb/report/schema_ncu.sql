-- The tables of an Nsight Compute report. Numbers that ncu did not measure are NULL, never 0; values are in base units.

-- Launches that ncu measured, one row each: process, kernel, and the main metrics
CREATE TABLE ncu_launch (
    launch_id INTEGER,                 -- number of the launch, the ID of ncu's raw page
    pid BIGINT,                        -- process id of the operating system
    process_name VARCHAR,              -- program, without its folder
    device_id INTEGER,                 -- GPU of the launch, gpu.gpu_id
    context_id BIGINT,                 -- CUDA context
    stream_id BIGINT,                  -- CUDA stream
    kernel VARCHAR,                    -- demangled, with parameters as ncu prints it; (unnamed) if the file has none
    mangled VARCHAR,                   -- mangled name, if known
    workload VARCHAR,                  -- kernel, range, cmdlist, graph; NULL if the file does not state it
    nvtx VARCHAR,                      -- NVTX ranges open at the launch, outermost first, joined by slashes
    launched_at VARCHAR,               -- local time of the launch, if ncu printed it (before 2021)
    cc VARCHAR,                        -- compute capability, major.minor
    grid_x BIGINT,                     -- blocks of the grid in x
    grid_y BIGINT,                     -- blocks of the grid in y
    grid_z BIGINT,                     -- blocks of the grid in z
    block_x BIGINT,                    -- threads per block in x
    block_y BIGINT,                    -- threads per block in y
    block_z BIGINT,                    -- threads per block in z
    grid_size BIGINT,                  -- blocks of the grid
    block_size BIGINT,                 -- threads per block
    registers_per_thread INTEGER,      -- 32-bit registers per thread
    shared_static_bytes BIGINT,        -- static shared memory per block, bytes
    shared_dynamic_bytes BIGINT,       -- dynamic shared memory per block, bytes
    shared_driver_bytes BIGINT,        -- shared memory per block that the driver keeps, bytes
    duration_ns BIGINT,                -- duration of the launch under ncu's clock control, ns
    elapsed_cycles DOUBLE,             -- elapsed cycles
    sm_frequency_hz DOUBLE,            -- SM clock during the measurement, Hz
    dram_frequency_hz DOUBLE,          -- device memory clock during the measurement, Hz
    sm_throughput_pct DOUBLE,          -- speed of light, compute: percent of the peak
    memory_throughput_pct DOUBLE,      -- speed of light, memory: percent of the peak
    dram_throughput_pct DOUBLE,        -- device memory: percent of the peak
    l2_throughput_pct DOUBLE,          -- L2 cache: percent of the peak
    l1_throughput_pct DOUBLE,          -- L1 cache: percent of the peak
    l1_hit_pct DOUBLE,                 -- L1 hits as a share of all sectors, percent
    l2_hit_pct DOUBLE,                 -- L2 hits as a share of all sectors, percent
    dram_bytes_per_s DOUBLE,           -- device memory traffic, bytes per second
    occupancy_pct DOUBLE,              -- achieved occupancy: active warps as a share of the SM's maximum, percent
    theoretical_occupancy_pct DOUBLE,  -- occupancy that registers, shared memory and block size allow, percent
    waves_per_sm DOUBLE,               -- blocks of the grid over the blocks that fit on the GPU at once
    issue_active_per_cycle DOUBLE      -- instructions that a scheduler issues per active cycle
);

-- Metrics in the report, by number
CREATE TABLE ncu_metric_name (
    metric_id INTEGER,                 -- number of the metric in this report
    name VARCHAR,                      -- ncu's name, for example gpu__time_duration.sum
    unit VARCHAR                       -- base unit of the values: ns, byte, byte/s, hz, %; empty if none
);

-- Values of metrics, one row per launch and measured metric
CREATE TABLE ncu_metric (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    metric_id INTEGER,                 -- metric, ncu_metric_name.metric_id
    value DOUBLE,                      -- value in the metric's base unit; NULL for text
    text VARCHAR                       -- value of a metric that is not a number
);

-- Values within a metric: occupancy by block size, instructions by opcode, samples over time; not those by code address
CREATE TABLE ncu_metric_instance (
    launch_id INTEGER,               -- launch, ncu_launch.launch_id
    metric_id INTEGER,               -- metric, ncu_metric_name.metric_id
    position INTEGER,                -- position in the list, from 0
    key BIGINT,                      -- key of the value, if numeric: a size, a count, a time in ns
    key_text VARCHAR,                -- key of the value, if text: an opcode
    value DOUBLE                     -- value in the metric's base unit
);

-- Rows of ncu's details page
CREATE TABLE ncu_detail (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    position INTEGER,                  -- position on the page of the launch, from 0
    section VARCHAR,                   -- section title, for example GPU Speed Of Light Throughput
    label VARCHAR,                     -- name of the value, for example Memory Throughput
    metric VARCHAR,                    -- metric behind it, ncu_metric_name.name; NULL if not certain
    unit VARCHAR,                      -- base unit of the value; empty if none
    value DOUBLE,                      -- value in the base unit; NULL for text or if not measured
    text VARCHAR                       -- value that is not a number
);

-- Results of ncu's own rules, verbatim
CREATE TABLE ncu_rule (
    launch_id INTEGER,            -- launch, ncu_launch.launch_id
    position INTEGER,             -- position on the page of the launch, from 0
    section VARCHAR,              -- identifier of the section, for example SpeedOfLight
    rule VARCHAR,                 -- identifier of the rule, for example SOLBottleneck
    type VARCHAR,                 -- OPT optimization, INF information, WRN warning, ERR failed rule
    message VARCHAR,              -- the message, verbatim
    speedup_type VARCHAR,         -- reference of the estimate: global, the kernel's time; local, a part of it
    speedup_pct DOUBLE            -- estimated speed-up, percent; NULL if ncu gives none
);

-- NVTX ranges open at a launch, outermost first
CREATE TABLE ncu_nvtx (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    domain VARCHAR,                    -- NVTX domain
    style VARCHAR,                     -- push_pop, start_end
    level INTEGER,                     -- depth in the stack of its domain, from 0
    name VARCHAR                       -- text of the range
);
