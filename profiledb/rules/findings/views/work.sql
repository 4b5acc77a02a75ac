-- Building blocks of the rules about copies, kernels and communication: stretches of time and their overlaps.
-- includes: selection, memory, nccl

-- The rows of a table (device_id, start_ns, end_ns) per GPU, merged where they overlap.
CREATE OR REPLACE MACRO finding_union(rows_of) AS TABLE
WITH swept AS (
    SELECT device_id, start_ns, end_ns, max(end_ns) OVER (lane ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS reached,
        max(end_ns) OVER (lane ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_ns
    FROM query_table(rows_of) WHERE end_ns > start_ns
    WINDOW lane AS (PARTITION BY device_id ORDER BY start_ns, end_ns)
)
SELECT device_id, start_ns, coalesce(lead(reached) OVER (PARTITION BY device_id ORDER BY start_ns), last_ns) AS end_ns
FROM swept WHERE reached IS NULL OR start_ns > reached;

-- Names of the kernels with which cuDNN and MIOpen (batched_transpose_16x32_half) convert the layout of tensors.
CREATE OR REPLACE VIEW layout_kernel AS
SELECT name_id FROM kernel_name WHERE regexp_matches(demangled, 'nchwToNhwc|nhwcToNchw|^batched_transpose_\d+x\d+_');

-- The active span of each GPU as one stretch, from its first to its last operation.
CREATE OR REPLACE VIEW finding_edge AS
SELECT device_id, min(start_ns) AS low, max(end_ns) AS high FROM selected_active GROUP BY device_id;

-- The time that the rows of a table (device_id, start_ns, end_ns) cover, over all GPUs: `ns`, and the part `bare_ns` in
-- which no row of `beside`, a table of the same columns, runs on the same GPU. Time outside the GPU's active span does
-- not count.
CREATE OR REPLACE MACRO finding_cover(rows_of, beside) AS TABLE
WITH own AS MATERIALIZED (
    SELECT * FROM (
        SELECT device_id, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns
        FROM query_table(rows_of) JOIN finding_edge USING (device_id)
    ) WHERE end_ns > start_ns
), hull AS MATERIALIZED (
    SELECT min(start_ns) AS low, max(end_ns) AS high, greatest(1, (max(end_ns) - min(start_ns)) // 65536) AS width
    FROM own
), near AS MATERIALIZED (  -- slots of time that any of them touches, few because merged stretches do not overlap
    SELECT DISTINCT unnest(range(start_ns // width, end_ns // width + 1)) AS slot
    FROM finding_union('own') CROSS JOIN hull
), mixed AS (  -- rows beside none of them change nothing; those shorter than a slot touch two at most
    SELECT device_id, start_ns, end_ns, true AS own FROM own
    UNION ALL
    SELECT device_id, start_ns, end_ns, false FROM query_table(beside) CROSS JOIN hull
    WHERE end_ns > start_ns AND start_ns < high AND end_ns > low AND (
            start_ns // width IN (SELECT slot FROM near) OR end_ns // width IN (SELECT slot FROM near)
            OR end_ns - start_ns >= width
        )
), swept AS (
    SELECT *, max(end_ns) OVER before AS reached, max(end_ns) FILTER (own) OVER before AS own_reached,
        max(end_ns) FILTER (NOT own) OVER before AS beside_reached
    FROM mixed
    WINDOW before AS (
        PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    )
), added AS (
    SELECT own, greatest(0, end_ns - greatest(start_ns, reached)) AS all_ns,
        greatest(0, end_ns - greatest(start_ns, own_reached)) AS own_ns,
        greatest(0, end_ns - greatest(start_ns, beside_reached)) AS beside_ns
    FROM swept
)
SELECT coalesce(sum(own_ns) FILTER (own), 0)::BIGINT AS ns,
    (coalesce(sum(all_ns), 0) - coalesce(sum(beside_ns) FILTER (NOT own), 0))::BIGINT AS bare_ns
FROM added;

-- The stretches in which a GPU computes: kernels other than communication, and whole graphs.
CREATE OR REPLACE VIEW finding_compute_work AS
SELECT device_id, start_ns, end_ns FROM selected_kernel
ANTI JOIN (SELECT name_id FROM kernel_name WHERE is_communication(short, class)) USING (name_id)
UNION ALL SELECT device_id, start_ns, end_ns FROM selected_graph_launch;

CREATE OR REPLACE VIEW finding_compute AS FROM finding_union('finding_compute_work');

-- Kernels of the selection summed by GPU, stream and name: a few hundred rows for a million kernels.
CREATE OR REPLACE VIEW finding_kernel_sum AS
SELECT device_id, stream_id, name_id, sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS launches
FROM selected_kernel GROUP BY device_id, stream_id, name_id;

-- Kernels of the selection that move data between GPUs.
CREATE OR REPLACE VIEW finding_communication AS
SELECT kernel.*, short FROM selected_kernel AS kernel
JOIN (SELECT name_id, short FROM kernel_name WHERE is_communication(short, class)) USING (name_id);

CREATE OR REPLACE MACRO has_finding_communication() AS EXISTS (FROM finding_communication);

-- Whether most of their time is sends and receives: GPUs exchange data (all-to-all, stages), and reduce little.
CREATE OR REPLACE VIEW finding_exchange AS
SELECT coalesce(2 * sum(ns) FILTER (nccl_operation(short) = 'SendRecv') > sum(ns), false) AS most
FROM finding_kernel_sum JOIN kernel_name USING (name_id) WHERE is_communication(short, class);

-- How much of the time of collectives is beyond the quickest tenth of their kind and size, in percent, if that is at
-- least half: they wait for a rank that arrives later. NULL if less than a quarter of the communication is of a kind
-- with 20 collectives.
CREATE OR REPLACE VIEW finding_collective_wait AS
WITH sized AS (
    SELECT short, bytes, device_id, grid_x::BIGINT * grid_y * grid_z AS blocks, end_ns - start_ns AS ns
    FROM finding_communication LEFT JOIN nccl_message USING (kernel_id)
), kind AS (
    SELECT sum(ns) AS ns, sum(ns) - count(*) * quantile_cont(ns, 0.1) AS beyond_ns FROM sized
    WHERE nccl_operation(short) IS DISTINCT FROM 'SendRecv'  -- always waits for a peer (pipeline_bubbles)
    GROUP BY short, bytes, device_id, blocks HAVING count(*) >= 20
)
SELECT CASE WHEN 2 * sum(beyond_ns) >= sum(ns) AND 4 * sum(ns) >= (SELECT sum(ns) FROM sized)
    THEN 100.0 * sum(beyond_ns) / sum(ns) END AS pct
FROM kind;

-- The collectives that several GPUs run: the nth of a name on each is one. Names whose counts differ between GPUs are
-- left out, because they would be paired wrongly. From its start until `until_ns` a GPU waits for the last one; the
-- first one starts at `first_ns`.
CREATE OR REPLACE VIEW finding_joint_collective AS
WITH numbered AS (
    SELECT kernel_id, short, device_id, stream_id, start_ns, end_ns,
        row_number() OVER (PARTITION BY device_id, short ORDER BY start_ns, kernel_id) AS nth,
        count(*) OVER (PARTITION BY device_id, short) AS runs
    FROM finding_communication
), alike AS (
    SELECT short FROM numbered GROUP BY short HAVING min(runs) = max(runs) AND count(DISTINCT device_id) > 1
)
SELECT numbered.*, least(end_ns, max(start_ns) OVER same) AS until_ns, min(start_ns) OVER same AS first_ns
FROM numbered SEMI JOIN alike USING (short) WINDOW same AS (PARTITION BY short, nth);

-- The time that collectives cover, and the part of it in which the GPU computes nothing.
CREATE OR REPLACE VIEW finding_exposed AS FROM finding_cover('finding_communication', 'finding_compute');

-- Copies and memsets of the selection with their calls. `held` is the reason why the CPU waits in the call, as in
-- `copy_kinds`, or NULL if it does not, or the report has no such call. The CPU waits from `start_ns` to `end_ns`: from
-- the start of the call to the later end of both, cut to the time in which the GPU has work. The copy itself runs from
-- `copy_start_ns` to `copy_end_ns`.
CREATE OR REPLACE VIEW finding_held_copy AS
WITH copy AS (
    SELECT one.memop_id, one.device_id, one.stream_id, one.direction, one.kind, one.copy_kind, one.src_kind,
        one.dst_kind, one.bytes, one.duration_ns, one.peak_bytes_per_s, one.limited_by, one.global_pid, function,
        one.start_ns AS copy_start_ns, one.end_ns AS copy_end_ns,
        greatest(low, least(one.start_ns, coalesce(call.start_ns, one.start_ns))) AS start_ns,
        least(high, greatest(one.end_ns, coalesce(call.end_ns, one.end_ns))) AS end_ns,
        call.end_ns - call.start_ns AS call_ns,
        CASE WHEN function ILIKE 'cu%Memcpy%Async%' AND (one.src_kind = 0 OR one.dst_kind = 0) THEN 'pageable'
            WHEN function ILIKE 'cu%Memcpy%' AND function NOT ILIKE '%Async%'
                AND NOT (one.bytes <= 64000 AND one.copy_kind = 1)
                AND NOT coalesce(one.src_device_id = one.dst_device_id, false)
                AND one.copy_kind NOT IN (5, 6, 7, 8) THEN 'synchronous'
            WHEN function ILIKE 'cu%Memset%' AND function NOT ILIKE '%Async%' AND one.dst_kind IN (1, 4) THEN 'memset'
        END AS held
    FROM selected_copy AS one JOIN finding_edge USING (device_id) LEFT JOIN api_call AS call USING (call_id)
    LEFT JOIN api_function ON api_function.name_id = call.name_id
)
SELECT copy.*, direction || coalesce(', ' || concat_ws(' to ', source.label, destination.label), '')
    || coalesce(', ' || function, '') AS title
FROM copy
LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.id = src_kind
LEFT JOIN enum_value AS destination ON destination.enum = 'CUDA_MEM_KIND' AND destination.id = dst_kind;

-- Return true for kernels that only pass time, such as that of `torch.cuda._sleep`.
CREATE OR REPLACE MACRO is_spinning(short) AS coalesce(regexp_matches(short, '\bspin_kernel'), false);

-- Kernels of the selection that ran alone on their GPU, without communication, which uses few SMs on purpose.
CREATE OR REPLACE VIEW finding_alone AS
SELECT * FROM (
    FROM selected_kernel
    QUALIFY start_ns >= coalesce(max(end_ns) OVER (
            PARTITION BY device_id ORDER BY start_ns, kernel_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)
        AND end_ns <= coalesce(lead(start_ns) OVER (PARTITION BY device_id ORDER BY start_ns, kernel_id), end_ns)
) ANTI JOIN (
    SELECT name_id FROM kernel_name WHERE is_communication(short, class) OR is_spinning(short)
) USING (name_id);
