-- NVTX ranges and what they hold. A call, and what it launched, is in a range that the same thread had open from the
-- begin to the end of the call. `pre` and `post` number the ranges so that "in this range or one below it" is
-- `thread_range BETWEEN pre AND post`.

-- Names of NVTX ranges and marks, with their domain
CREATE TABLE range_name (
    name_id INTEGER,                   -- what range.name_id and mark.name_id refer to
    domain VARCHAR,                    -- NVTX domain, NULL for the default one
    text VARCHAR,                      -- text of the range
    name VARCHAR                       -- domain:text, or the text alone
);

-- NVTX ranges, a row an instance
CREATE TABLE range (
    range_id BIGINT,                   -- row of NVTX_EVENTS in the order of the export
    start_ns BIGINT,                   -- begin on the host, ns
    end_ns BIGINT,                     -- end on the host, ns; of one never closed the end of the NVTX data
    closed BOOLEAN,                    -- false where the capture ended inside
    style VARCHAR,                     -- PushPop, StartEnd
    event_type INTEGER,                -- enum NSYS_EVENT_TYPE
    name_id INTEGER,                   -- range_name
    global_tid BIGINT,                 -- thread that opened it
    end_global_tid BIGINT,             -- thread that closed it, where it is another one
    domain_id BIGINT,                  -- NVTX domain
    category BIGINT,                   -- NVTX category
    color BIGINT,                      -- NVTX color, ARGB
    nvtx_id BIGINT,                    -- id of a start/end range
    parent_id BIGINT,                  -- range_id of the tightest range around it on its thread
    level INTEGER,                     -- ranges around it, 0 for one at the top
    path_id INTEGER,                   -- range_path
    pre BIGINT,                        -- number of the range: ranges inside it follow
    post BIGINT,                       -- number of the last range inside it, its own where there is none
    outer_pre BIGINT,                  -- pre of the next range that holds all that this one holds
    payload_uint64 UBIGINT,            -- payload, unsigned
    payload_int64 BIGINT,              -- payload, signed
    payload_double DOUBLE,             -- payload, floating point
    payload_json VARCHAR               -- payload with a schema, as JSON
);

-- NVTX marks
CREATE TABLE mark (
    mark_id BIGINT,                    -- row of NVTX_EVENTS in the order of the export
    time_ns BIGINT,                    -- moment on the host, ns
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

-- Names of ranges in the order in which they enclose each other, a row a stack of names
CREATE TABLE range_path (
    path_id INTEGER,                   -- what range.path_id refers to
    parent_id INTEGER,                 -- path without its last name
    level INTEGER,                     -- names before the last one
    name VARCHAR,                      -- last name
    path VARCHAR                       -- all names, joined by a slash; a slash in a name follows a backslash
);

-- Further ranges around a call, a row each: of start/end ranges that cross others, and of the thread that drives the
-- thread of a call that has ranges of its own
CREATE TABLE call_range (
    call_id BIGINT,                    -- api_call
    thread_range BIGINT,               -- range.pre of a further innermost range on its own thread
    process_range BIGINT               -- range.pre of a further innermost range on its own thread or on the driving one
);

-- Threads that work for another one, and that thread: in the mode "process" its ranges hold their calls, too
CREATE TABLE thread_driver (
    global_tid BIGINT,                 -- thread
    driver_tid BIGINT,                 -- thread of the same process that had a range open during most of its calls
    share_pct DOUBLE                   -- during how many of its calls, percent
);

-- What the ranges ran on the GPU, a row a range that launched anything, and mode
CREATE TABLE projection (
    mode VARCHAR,                      -- thread, process
    range_id BIGINT,                   -- range
    start_ns BIGINT,                   -- begin of its first operation on the GPU, ns
    end_ns BIGINT,                     -- end of its last operation on the GPU, ns
    launches BIGINT,                   -- calls that launched its operations: a CUDA graph counts once
    operations BIGINT,                 -- kernels, copies, memory sets and whole graphs
    operation_ns BIGINT,               -- sum of their durations, ns
    kernel_ns BIGINT,                  -- sum of the durations of kernels, ns
    busy_ns BIGINT                     -- union of their times, by GPU, ns
);
