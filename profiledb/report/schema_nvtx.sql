-- NVTX ranges and their content. A call and its launches belong to a range if the same thread had it open from the
-- start to the end of the call. `pre` and `post` number the ranges so that "in this range or one below it" is
-- `thread_range BETWEEN pre AND post`.

-- Names of NVTX ranges and marks, with their domain
CREATE TABLE range_name (
    name_id INTEGER,                   -- target of range.name_id and mark.name_id
    domain VARCHAR,                    -- NVTX domain, NULL for the default one
    text VARCHAR,                      -- text of the range
    name VARCHAR                       -- domain:text, or the text alone
);

-- NVTX ranges, one row per instance
CREATE TABLE range (
    range_id BIGINT,                   -- row number in NVTX_EVENTS of the export
    start_ns BIGINT,                   -- start on the CPU, ns
    end_ns BIGINT,                     -- end on the CPU, ns; for unclosed ranges the end of the NVTX data
    closed BOOLEAN,                    -- false if the capture ended inside
    style VARCHAR,                     -- PushPop, StartEnd
    event_type INTEGER,                -- enum NSYS_EVENT_TYPE
    name_id INTEGER,                   -- range_name
    global_tid BIGINT,                 -- thread that opened it
    end_global_tid BIGINT,             -- thread that closed it, if another one
    domain_id BIGINT,                  -- NVTX domain
    category BIGINT,                   -- NVTX category
    color BIGINT,                      -- NVTX color, ARGB
    nvtx_id BIGINT,                    -- id of a start/end range
    parent_id BIGINT,                  -- range_id of the tightest range around it on its thread
    level INTEGER,                     -- number of enclosing ranges, 0 at the top
    path_id INTEGER,                   -- range_path
    pre BIGINT,                        -- number of the range: ranges inside it follow
    post BIGINT,                       -- number of the last range inside it, or its own
    outer_pre BIGINT,                  -- pre of the next range that contains all content of this one
    payload_uint64 UBIGINT,            -- payload, unsigned
    payload_int64 BIGINT,              -- payload, signed
    payload_double DOUBLE,             -- payload, floating point
    payload_json VARCHAR               -- payload with a schema, as JSON
);

-- NVTX marks
CREATE TABLE mark (
    mark_id BIGINT,                    -- row number in NVTX_EVENTS of the export
    time_ns BIGINT,                    -- time on the CPU, ns
    name_id INTEGER,                   -- range_name
    global_tid BIGINT,                 -- thread
    domain_id BIGINT,                  -- NVTX domain
    category BIGINT,                   -- NVTX category
    color BIGINT,                      -- NVTX color, ARGB
    payload_uint64 UBIGINT,            -- payload, unsigned
    payload_int64 BIGINT,              -- payload, signed
    payload_double DOUBLE,             -- payload, floating point
    payload_json VARCHAR               -- payload with a schema, as JSON
);

-- Range names in nesting order, one row per stack of names
CREATE TABLE range_path (
    path_id INTEGER,                   -- target of range.path_id
    parent_id INTEGER,                 -- path without its last name
    level INTEGER,                     -- number of names before the last one
    name VARCHAR,                      -- last name
    path VARCHAR                       -- all names, joined by slashes; a slash in a name follows a backslash
);

-- Further ranges around a call, one row each: start/end ranges that cross others, and ranges of the driving thread for
-- a call whose thread has its own ranges
CREATE TABLE call_range (
    call_id BIGINT,                    -- api_call
    thread_range BIGINT,               -- range.pre of a further innermost range on its own thread
    process_range BIGINT               -- range.pre of a further innermost range on its own thread or on the driving one
);

-- Threads that work for another one, and that thread: in the mode "process" its ranges include their calls
CREATE TABLE thread_driver (
    global_tid BIGINT,                 -- thread
    driver_tid BIGINT,                 -- thread of the same process that had a range open during most of its calls
    share_pct DOUBLE                   -- share of these calls, percent
);

-- GPU work of ranges, one row per range with launches, and mode
CREATE TABLE projection (
    mode VARCHAR,                      -- thread, process
    range_id BIGINT,                   -- range
    start_ns BIGINT,                   -- start of its first operation on the GPU, ns
    end_ns BIGINT,                     -- end of its last operation on the GPU, ns
    launches BIGINT,                   -- calls that launched its operations: a CUDA graph counts once
    operations BIGINT,                 -- kernels, copies, memsets and whole graphs
    operation_ns BIGINT,               -- sum of their durations, ns
    kernel_ns BIGINT,                  -- sum of kernel durations, ns
    busy_ns BIGINT                     -- union of their times, by GPU, ns
);
