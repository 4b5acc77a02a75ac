-- Building blocks of the analyses behind the page "Memory and API".
-- includes: selection, api_name

-- A readable function name: without the version suffix of runtime calls, cudaMalloc_v3020.
CREATE OR REPLACE MACRO function_name(name) AS regexp_replace(name, '_v\d{4,5}$', '');

-- Functions of the GPU's interface called in the report, with vendor, kind and category (api_name.sql).
CREATE OR REPLACE VIEW api_function AS
SELECT name_id, function, match.vendor AS vendor, coalesce(match.kind, 'other') AS call_kind,
    category_of(match.kind) AS category
FROM (
    SELECT string_id AS name_id, function_name(value) AS function,
        arg_min({'vendor': vendor, 'kind': kind}, place) AS match
    FROM (FROM string WHERE string_id IN (SELECT DISTINCT name_id FROM api_call))
    LEFT JOIN api_pattern ON regexp_matches(value, pattern) GROUP BY string_id, value
);

-- Whether the CPU waits in a call of this length: for the GPU, for room in its queue, or for pageable memory.
CREATE OR REPLACE MACRO call_waits(category, ns) AS
category IN ('synchronization', 'blocking copy') OR category IN ('launch', 'queued copy') AND ns > 50000;

-- Calls that launch a whole graph. Where a trace does not mark the nodes of a graph (HIP), this tells them.
CREATE OR REPLACE VIEW graph_call AS
SELECT call_id FROM api_call
SEMI JOIN (SELECT name_id FROM api_function WHERE call_kind = 'graph launch') AS graph USING (name_id);

-- Kernels of the selection that were launched one by one: a call that launches a graph launches many.
CREATE OR REPLACE VIEW selected_single_kernel AS
SELECT * FROM selected_kernel ANTI JOIN graph_call USING (call_id) WHERE coalesce(graph_node_id, 0) = 0;

-- Peak of a GPU's link to the host in one direction, bytes per second, NULL if unknown. No nsys report has it, so it
-- comes from NVIDIA's data sheet of the board: PCI Express of a generation with 16 lanes (8 for the smaller dies), at
-- 8, 16 or 32 GT/s per lane and 128 bits in 130 (PCI Express Base Specification). A slot may be slower. Unknown: laptop
-- boards, whose lanes differ by model, and CPUs linked by NVLink: Grace (GH200, GB200, GB300), and V100 in POWER9
-- machines.
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

-- Peak of NVLink between two GPUs of one machine in one direction, bytes per second, from the board's data sheet; NULL
-- if the board has none or it is unknown. Boards that share a bridge or a mesh reach less with each.
CREATE OR REPLACE MACRO peer_link(name) AS CASE
    WHEN regexp_matches(name, '(?i)PCIe|PCI-E|NVL\b') THEN NULL
    WHEN regexp_matches(name, '\b(GB200|B200|B300|GB300)\b') THEN 900e9
    WHEN regexp_matches(name, '\b(H100|H200|H800|GH200)\b') THEN CASE WHEN name LIKE '%H800%' THEN 200e9 ELSE 450e9 END
    WHEN regexp_matches(name, '\bA100\b.*SXM|A100-SXM') THEN 300e9
    WHEN regexp_matches(name, 'V100.*SXM') THEN 150e9
END;

-- Copies and memsets of the selection with their limiter: the link to the host, or the GPU memory. A copy inside a GPU
-- reads and writes, so its traffic is twice its size. No report states the link between GPUs.
CREATE OR REPLACE VIEW selected_copy AS
SELECT memop.*, regexp_replace(operation, '^\[CUDA (?:memcpy )?(.*)\]$', '\1') AS direction,
    memop.end_ns - memop.start_ns AS duration_ns,
    CASE limited_by WHEN 'host link' THEN link WHEN 'memory' THEN memory_bandwidth_bytes_per_s END AS peak_bytes_per_s,
    bytes * CASE WHEN limited_by = 'memory' AND kind = 'memcpy' THEN 2 ELSE 1 END AS traffic_bytes
FROM (
    SELECT * REPLACE (coalesce(operation, '[CUDA memcpy Unknown]') AS operation),
        CASE WHEN kind = 'memset' THEN CASE WHEN dst_kind IN (2, 3, 5) THEN 'memory' END
        WHEN copy_kind IN (1, 2, 3, 4, 11, 12) THEN 'host link'
        WHEN copy_kind IN (5, 6, 7, 8)
            AND (src_device_id IS NOT DISTINCT FROM dst_device_id) THEN 'memory' END AS limited_by
    FROM selected_memop
) AS memop
LEFT JOIN (
    SELECT gpu_id, nullif(memory_bandwidth_bytes_per_s, 0) AS memory_bandwidth_bytes_per_s,
        host_link_bytes_per_s(gpu.name, chip, cpu) AS link
    FROM gpu CROSS JOIN report
) ON gpu_id = device_id;

-- Copies and memsets of the selection summed by operation: `kind` separates memcpy from memset.
CREATE OR REPLACE VIEW selected_copy_sum AS
SELECT kind, operation, direction, sum(duration_ns)::BIGINT AS total_ns, count(*) AS count, sum(bytes)::BIGINT AS bytes,
    avg(bytes) AS avg_bytes, sum(bytes) * 1e9 / nullif(total_ns, 0) AS bytes_per_s,
    sum(traffic_bytes) * 1e9 / nullif(total_ns, 0) AS traffic_bytes_per_s,
    CASE WHEN count(peak_bytes_per_s) = count(*) AND min(peak_bytes_per_s) = max(peak_bytes_per_s)
        THEN min(peak_bytes_per_s)::DOUBLE END AS peak_bytes_per_s
FROM selected_copy GROUP BY kind, operation, direction;

-- Device memory that the program held after each event, by GPU: allocations less frees of kinds 2 device, 3 array and 5
-- static (enum CUDA_MEM_KIND). Memory freed without a visible allocation was held from the start.
CREATE OR REPLACE VIEW memory_held AS
WITH running AS (
    SELECT device_id, event_id, time_ns AS moment_ns, sum(CASE WHEN operation = 0 THEN bytes ELSE -bytes END) OVER (
            PARTITION BY device_id ORDER BY time_ns, event_id ROWS UNBOUNDED PRECEDING
        ) AS held_bytes
    FROM memory_event WHERE mem_kind IN (2, 3, 5) AND operation IN (0, 1)
)
SELECT * REPLACE (held_bytes - least(0, min(held_bytes) OVER (PARTITION BY device_id)) AS held_bytes) FROM running;

-- Unit of a GPU metric, from its name. nsys stores clocks in Hz, even those named [MHz].
CREATE OR REPLACE MACRO metric_unit(name) AS CASE
    WHEN regexp_matches(name, 'Clock Frequency') THEN 'Hz'
    WHEN regexp_matches(name, '%\]$') OR NOT regexp_matches(name, '\[') THEN '%'
END;
