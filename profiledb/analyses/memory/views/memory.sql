-- Building blocks of the analyses behind the page "Memory and API".
-- includes: selection

-- A function as people write it: without the version that the runtime's calls carry, cudaMalloc_v3020.
CREATE OR REPLACE MACRO function_name(name) AS regexp_replace(name, '_v\d{4,5}$', '');

-- What a CUDA call is for, by its name. A blocking copy is a Memcpy without Async; the other copies, memory sets and
-- prefetches return once they are queued (pageable memory holds the host all the same, which a name does not tell).
-- Building a CUDA graph is none of these, though its functions are called after what they add.
CREATE OR REPLACE MACRO api_category(name) AS CASE
    WHEN regexp_matches(name, '^cu(da)?(Graph)?Launch') THEN 'launch'
    WHEN regexp_matches(name, '^cu(da)?Graph') THEN 'other'
    WHEN regexp_matches(name, 'Synchronize') THEN 'synchronisation'
    WHEN regexp_matches(name, 'Memcpy') AND NOT regexp_matches(name, 'Async') THEN 'blocking copy'
    WHEN regexp_matches(name, 'Memcpy|Memset|MemPrefetch') THEN 'queued copy'
    WHEN regexp_matches(name, 'Malloc|MemAlloc|HostAlloc|Free|Host(Unr|R)egister|ArrayCreate|MemPool|'
        || 'Mem(Create|Map|Unmap|Release|Address|SetAccess)') THEN 'allocation'
    WHEN regexp_matches(name, '(Module|Library)(Load|Unload)|^cuLink') THEN 'module loading'
    ELSE 'other'
END;

-- Names of CUDA functions that the report has calls of.
CREATE OR REPLACE VIEW api_function AS
SELECT string_id AS name_id, function_name(value) AS function, api_category(value) AS category
FROM string WHERE string_id IN (SELECT DISTINCT name_id FROM api_call);

-- Peak of a GPU's link to the host in one direction, bytes per second, NULL where it is not known.
-- No report of nsys tells it, so it is what NVIDIA's data sheet of the board states: PCI Express of a generation with
-- 16 lanes (8 for the smaller dies), at 8, 16 or 32 GT/s a lane and 128 bits in 130 (PCI Express Base Specification).
-- A slot may be slower. Unknown are boards of laptops, whose lanes differ by model, and what a CPU reaches by NVLink
-- instead: Grace (GH200, GB200, GB300), and V100 in POWER9 machines.
CREATE OR REPLACE MACRO host_link_bytes_per_s(name, chip, cpu) AS CASE
    WHEN regexp_matches(name, '(?i)laptop|mobile|max-q|GH200|GB[23]00|GB10\b|Orin|Thor|Xavier') THEN NULL
    WHEN regexp_matches(coalesce(cpu, ''), '(?i)POWER9|Grace') THEN NULL
    ELSE CASE
        WHEN chip IN ('GH100', 'GB100', 'GB102', 'GB202', 'GB203', 'GB205') THEN 32 * 16
        WHEN chip = 'GB206' THEN 32 * 8
        WHEN chip IN ('GA100', 'GA102', 'GA103', 'GA104', 'AD102', 'AD103', 'AD104') THEN 16 * 16
        WHEN chip IN ('GA107', 'AD106', 'AD107') THEN 16 * 8
        WHEN chip IN ('GM200', 'GM204', 'GM206', 'GP100', 'GP102', 'GP104', 'GP106', 'GV100', 'TU102', 'TU104',
            'TU106', 'TU116', 'TU117') THEN 8 * 16
    END * 1e9 / 8 * 128 / 130
END;

-- Copies and memory sets of the selection with what limits them: the link to the host, or the memory of the GPU. A copy
-- inside a GPU reads and writes, so its traffic is twice its size. Between GPUs no report tells the link.
CREATE OR REPLACE VIEW selected_copy AS
SELECT memop.*, regexp_replace(operation, '^\[CUDA (?:memcpy )?(.*)\]$', '\1') AS direction,
    memop.end_ns - memop.start_ns AS duration_ns,
    CASE limited_by WHEN 'host link' THEN link WHEN 'memory' THEN memory_bandwidth_bytes_per_s END AS peak_bytes_per_s,
    bytes * CASE WHEN limited_by = 'memory' AND kind = 'memcpy' THEN 2 ELSE 1 END AS traffic_bytes
FROM (
    SELECT *, CASE WHEN kind = 'memset' THEN CASE WHEN dst_kind IN (2, 3, 5) THEN 'memory' END
        WHEN copy_kind IN (1, 2, 3, 4, 11, 12) THEN 'host link'
        WHEN copy_kind IN (5, 6, 7, 8) AND src_device_id IS NOT DISTINCT FROM dst_device_id THEN 'memory' END AS limited_by
    FROM selected_memop
) AS memop
LEFT JOIN (
    SELECT gpu_id, nullif(memory_bandwidth_bytes_per_s, 0) AS memory_bandwidth_bytes_per_s,
        host_link_bytes_per_s(gpu.name, chip, cpu) AS link
    FROM gpu CROSS JOIN report
) ON gpu_id = device_id
WHERE operation IS NOT NULL;

-- Copies and memory sets of the selection added up, a row an operation: `kind` tells copies (memcpy) from memsets.
CREATE OR REPLACE VIEW selected_copy_sum AS
SELECT kind, operation, direction, sum(duration_ns)::BIGINT AS total_ns, count(*) AS count, sum(bytes)::BIGINT AS bytes,
    avg(bytes) AS avg_bytes, sum(bytes) * 1e9 / nullif(total_ns, 0) AS bytes_per_s,
    sum(traffic_bytes) * 1e9 / nullif(total_ns, 0) AS traffic_bytes_per_s,
    CASE WHEN count(peak_bytes_per_s) = count(*) AND min(peak_bytes_per_s) = max(peak_bytes_per_s)
        THEN min(peak_bytes_per_s)::DOUBLE END AS peak_bytes_per_s
FROM selected_copy GROUP BY kind, operation, direction;

-- What the host did while a GPU was idle, a row a gap and reason; a GPU without work in the selection has none.
-- The gaps are the stretches of selected_window without selected_busy; `longest` keeps so many of the longest ones, all
-- where it is NULL. Gaps below `min_ns` are one row a GPU, with their number in `gaps` and without a gap_id.
-- A gap ends where an operation begins. Until the call that launched this operation had returned it was up to the thread
-- of that call: what it was in counts with its outermost call, the rest is host code. What then remains of the gap is
-- the way of the launch to the GPU, or a wait for other work.
CREATE OR REPLACE MACRO selected_idle(min_ns, longest) AS TABLE
WITH work AS MATERIALIZED (SELECT device_id, start_ns, end_ns FROM selected_busy
), stretch AS MATERIALIZED (SELECT start_ns, end_ns FROM selected_window
), used AS (SELECT DISTINCT device_id FROM work
), edge AS (
    SELECT min(start_ns) AS low, max(end_ns) AS high FROM stretch HAVING low IS NOT NULL
), taken AS (
    SELECT device_id, start_ns, end_ns FROM work
    UNION ALL
    SELECT device_id, start_ns, end_ns FROM used CROSS JOIN (
        SELECT end_ns AS start_ns, lead(start_ns, 1, end_ns) OVER (ORDER BY start_ns) AS end_ns FROM stretch
    )
), hole AS (
    SELECT device_id, least(start_ns, high) AS b, greatest(low, coalesce(max(end_ns) OVER (
            PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), low)) AS a
    FROM taken CROSS JOIN edge
), gap AS (
    SELECT row_number() OVER (ORDER BY b - a DESC, a, device_id) AS gap_id, device_id, a, b
    FROM hole WHERE b - a >= min_ns AND b > a QUALIFY longest IS NULL OR gap_id <= longest
), operation AS (
    SELECT device_id, start_ns, call_id, process_range, name_id, NULL AS operation FROM selected_kernel
    UNION ALL SELECT device_id, start_ns, call_id, process_range, NULL, operation FROM selected_memop
    UNION ALL SELECT device_id, start_ns, call_id, process_range, NULL, 'CUDA graph' FROM selected_graph_launch
), follower AS (
    SELECT gap_id, arg_min({call_id: call_id, process_range: process_range, name_id: name_id, operation: operation},
            coalesce(call_id, 0)) AS next
    FROM gap JOIN operation ON operation.device_id = gap.device_id AND start_ns = b GROUP BY gap_id
), host AS (
    SELECT gap.*, next, global_tid,
        CASE WHEN api_call.end_ns IS NOT NULL THEN greatest(a, least(b, api_call.end_ns)) END AS cut
    FROM gap LEFT JOIN follower USING (gap_id) LEFT JOIN api_call ON api_call.call_id = next.call_id
), grid AS (  -- stretches so short that few gaps and calls share one
    SELECT greatest(1, any_value(high - low) // greatest(65536, 2 * count(*))) AS width FROM gap CROSS JOIN edge
    HAVING count(*) > 0
), gap_bin AS (
    SELECT gap_id, global_tid, a, cut, a // width AS first_bin, unnest(range(a // width, cut // width + 1)) AS bin
    FROM host CROSS JOIN grid WHERE cut > a
), call AS (  -- cut at the edges: in a short selection a bin is narrow, and a long call would lie in very many
    SELECT global_tid, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns, name_id, source
    FROM (
        SELECT global_tid, start_ns, end_ns, name_id, 0 AS source FROM api_call
        UNION ALL SELECT global_tid, start_ns, end_ns, name_id, 1 FROM osrt_call WHERE event_class = 27
    ) CROSS JOIN edge
    WHERE start_ns < high AND end_ns > low AND global_tid IN (SELECT global_tid FROM host)
), call_bin AS (
    SELECT call.*, start_ns // width AS first_bin, start_ns // width AS bin FROM call CROSS JOIN grid
    UNION ALL
    SELECT call.*, start_ns // width, unnest(range(start_ns // width + 1, end_ns // width + 1))
    FROM call CROSS JOIN grid WHERE start_ns // width < end_ns // width
), met AS (
    SELECT gap_id, a, cut, source, name_id, greatest(start_ns, a) AS s, least(end_ns, cut) AS e
    FROM gap_bin JOIN call_bin USING (global_tid, bin)
    WHERE bin = greatest(gap_bin.first_bin, call_bin.first_bin) AND start_ns < cut AND end_ns > a
), part AS (
    SELECT gap_id, source, name_id, e - greatest(s, coalesce(max(e) OVER (
            PARTITION BY gap_id ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), a)) AS ns
    FROM met
), spent AS (
    SELECT gap_id, CASE WHEN source = 1 THEN 'OS runtime call' WHEN category = 'launch' THEN 'launch call'
            WHEN category IN ('blocking copy', 'queued copy') THEN 'copy call'
            WHEN category = 'other' THEN 'other CUDA call' ELSE category END AS reason, name_id, sum(ns)::BIGINT AS ns
    FROM part LEFT JOIN api_function USING (name_id) WHERE ns > 0 GROUP BY ALL
), piece AS (
    SELECT gap_id, reason, sum(ns)::BIGINT AS ns, arg_max(name_id, ns) AS name_id FROM spent GROUP BY gap_id, reason
    UNION ALL
    SELECT gap_id, CASE WHEN next IS NULL THEN 'until the end' WHEN cut IS NULL THEN 'unknown'
        ELSE 'launched, not begun' END, b - coalesce(cut, a), NULL FROM host
    UNION ALL
    SELECT gap_id, 'host code', cut - a - coalesce(inside, 0), NULL  -- cut is NULL without a call, and so is this
    FROM host LEFT JOIN (SELECT gap_id, sum(ns)::BIGINT AS inside FROM spent GROUP BY gap_id) USING (gap_id)
)
SELECT gap_id, device_id, a AS start_ns, b - a AS duration_ns, next, reason, ns, function_name(value) AS function,
    1 AS gaps, row_number() OVER (PARTITION BY gap_id ORDER BY ns DESC, reason) = 1 AS is_main
FROM piece JOIN host USING (gap_id) LEFT JOIN string ON string_id = piece.name_id WHERE ns > 0
UNION ALL
SELECT NULL, device_id, NULL, max(b - a), NULL, 'between operations', sum(b - a)::BIGINT, NULL, count(*), true
FROM hole WHERE b > a AND b - a < min_ns AND longest IS NULL GROUP BY device_id;

-- Device memory that the program held after each event, by GPU: allocations less releases of kinds 2 device, 3 array and
-- 5 static (enum CUDA_MEM_KIND). What was released but never seen allocated was held from the begin on.
CREATE OR REPLACE VIEW memory_held AS
WITH running AS (
    SELECT device_id, event_id, time_ns AS moment_ns, sum(CASE WHEN operation = 0 THEN bytes ELSE -bytes END) OVER (
            PARTITION BY device_id ORDER BY time_ns, event_id ROWS UNBOUNDED PRECEDING
        ) AS held_bytes
    FROM memory_event WHERE mem_kind IN (2, 3, 5) AND operation IN (0, 1)
)
SELECT * REPLACE (held_bytes - least(0, min(held_bytes) OVER (PARTITION BY device_id)) AS held_bytes) FROM running;

-- The unit of a GPU metric by its name. nsys stores clocks in Hz, also those that it calls [MHz].
CREATE OR REPLACE MACRO metric_unit(name) AS CASE
    WHEN regexp_matches(name, 'Clock Frequency') THEN 'Hz'
    WHEN regexp_matches(name, '%\]$') OR NOT regexp_matches(name, '\[') THEN '%'
END;
