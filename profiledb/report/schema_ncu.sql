-- The tables of a Nsight Compute report. A number that ncu did not measure is NULL, never 0; values are in base units.

-- Launches that ncu measured, one row each: who launched what, and the numbers most asked for
CREATE TABLE ncu_launch (
    launch_id INTEGER,                 -- number of the launch, the ID of ncu's raw page
    pid BIGINT,                        -- process id of the operating system
    process_name VARCHAR,              -- program, without its folder
    device_id INTEGER,                 -- gpu that ran it, gpu.gpu_id
    context_id BIGINT,                 -- CUDA context
    stream_id BIGINT,                  -- CUDA stream
    kernel VARCHAR,                    -- demangled, with parameters as ncu prints it; (unnamed) where the file has none
    mangled VARCHAR,                   -- mangled name, where known
    workload VARCHAR,                  -- kernel, range, cmdlist, graph; NULL where the file does not tell
    nvtx VARCHAR,                      -- NVTX ranges open at the launch, outermost first, joined by a slash
    launched_at VARCHAR,               -- local time of the launch, where ncu printed it (before 2021)
    cc VARCHAR,                        -- compute capability, major.minor
    grid_x BIGINT,                     -- blocks of the grid in x
    grid_y BIGINT,                     -- blocks of the grid in y
    grid_z BIGINT,                     -- blocks of the grid in z
    block_x BIGINT,                    -- threads of a block in x
    block_y BIGINT,                    -- threads of a block in y
    block_z BIGINT,                    -- threads of a block in z
    grid_size BIGINT,                  -- blocks of the grid
    block_size BIGINT,                 -- threads of a block
    registers_per_thread INTEGER,      -- 32-bit registers of a thread
    shared_static_bytes BIGINT,        -- static shared memory of a block, bytes
    shared_dynamic_bytes BIGINT,       -- dynamic shared memory of a block, bytes
    shared_driver_bytes BIGINT,        -- shared memory of a block that the driver keeps, bytes
    duration_ns BIGINT,                -- time the launch took under ncu's clock control, ns
    elapsed_cycles DOUBLE,             -- cycles that elapsed
    sm_frequency_hz DOUBLE,            -- SM clock while measured, Hz
    dram_frequency_hz DOUBLE,          -- clock of the device memory while measured, Hz
    sm_throughput_pct DOUBLE,          -- speed of light, compute: percent of the peak
    memory_throughput_pct DOUBLE,      -- speed of light, memory: percent of the peak
    dram_throughput_pct DOUBLE,        -- device memory: percent of the peak
    l2_throughput_pct DOUBLE,          -- L2 cache: percent of the peak
    l1_throughput_pct DOUBLE,          -- L1 cache: percent of the peak
    l1_hit_pct DOUBLE,                 -- L1 hits of all sectors, percent
    l2_hit_pct DOUBLE,                 -- L2 hits of all sectors, percent
    dram_bytes_per_s DOUBLE,           -- traffic of the device memory, bytes per second
    occupancy_pct DOUBLE,              -- achieved: active warps of those an SM can hold, percent
    theoretical_occupancy_pct DOUBLE,  -- what registers, shared memory and block size allow, percent
    waves_per_sm DOUBLE,               -- blocks of the grid over the blocks that fit on the GPU at once
    issue_active_per_cycle DOUBLE      -- instructions that a scheduler issues in an active cycle
);

-- Metrics that the report holds, by number
CREATE TABLE ncu_metric_name (
    metric_id INTEGER,                 -- number of the metric in this report
    name VARCHAR,                      -- name as ncu writes it, for example gpu__time_duration.sum
    unit VARCHAR                       -- base unit of the values: ns, byte, byte/s, hz, %; empty where it has none
);

-- Values of metrics, one row a launch and metric that was measured
CREATE TABLE ncu_metric (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    metric_id INTEGER,                 -- metric, ncu_metric_name.metric_id
    value DOUBLE,                      -- value in the metric's base unit; NULL where it is a text
    text VARCHAR                       -- value of a metric that is no number
);

-- Values within a metric: occupancy by block size, instructions by opcode, samples over time; not those by code address
CREATE TABLE ncu_metric_instance (
    launch_id INTEGER,               -- launch, ncu_launch.launch_id
    metric_id INTEGER,               -- metric, ncu_metric_name.metric_id
    position INTEGER,                -- place in the list, from 0
    key BIGINT,                      -- what the value belongs to, where that is a number: a size, a count, a time in ns
    key_text VARCHAR,                -- what the value belongs to, where that is a text: an opcode
    value DOUBLE                     -- value in the metric's base unit
);

-- Rows of ncu's details page
CREATE TABLE ncu_detail (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    position INTEGER,                  -- place on the page of the launch, from 0
    section VARCHAR,                   -- section title, for example GPU Speed Of Light Throughput
    label VARCHAR,                     -- what the row shows, for example Memory Throughput
    metric VARCHAR,                    -- metric behind it, ncu_metric_name.name; NULL where not certain
    unit VARCHAR,                      -- base unit of the value; empty where it has none
    value DOUBLE,                      -- value in the base unit; NULL where it is a text or was not measured
    text VARCHAR                       -- value that is no number
);

-- Results of ncu's own rules, word for word
CREATE TABLE ncu_rule (
    launch_id INTEGER,            -- launch, ncu_launch.launch_id
    position INTEGER,             -- place on the page of the launch, from 0
    section VARCHAR,              -- identifier of the section, for example SpeedOfLight
    rule VARCHAR,                 -- identifier of the rule, for example SOLBottleneck
    type VARCHAR,                 -- OPT what to improve, INF to know, WRN a warning, ERR the rule failed
    message VARCHAR,              -- the message, verbatim
    speedup_type VARCHAR,         -- what the estimate refers to: global, the time of the kernel; local, this part of it
    speedup_pct DOUBLE            -- estimated speed-up, percent; NULL where ncu gives none
);

-- NVTX ranges open at a launch, from the outermost
CREATE TABLE ncu_nvtx (
    launch_id INTEGER,                 -- launch, ncu_launch.launch_id
    domain VARCHAR,                    -- NVTX domain
    style VARCHAR,                     -- push_pop, start_end
    level INTEGER,                     -- depth in the stack of its domain, from 0
    name VARCHAR                       -- text of the range
);
