-- Rows of tensor_event, tensor_segment and tensor_block from a snapshot (parts.py). Events of a device are in order;
-- times that contradict the order, because the clock was set back, are ignored.

-- A damaged digit moves an event by years: a time more than 52 days from the middle is impossible.
CREATE OR REPLACE TEMP TABLE session AS
WITH moment AS (
    SELECT time_us FROM snapshot_event UNION ALL SELECT begin_us FROM snapshot_annotation
    UNION ALL SELECT end_us FROM snapshot_annotation
), middle AS (SELECT median(time_us)::BIGINT AS middle_us FROM moment)
SELECT coalesce(min(time_us), 0) AS begin_us, max(time_us) AS end_us, count(time_us) > 0 AS is_timed
FROM moment CROSS JOIN middle WHERE abs(time_us - middle_us) < 4503599627370;

-- A time on the report's clock, which starts at the first event.
CREATE OR REPLACE TEMP MACRO on_clock(t) AS
CASE WHEN t BETWEEN (SELECT session.begin_us FROM session) AND (SELECT session.end_us FROM session)
    THEN (t - (SELECT session.begin_us FROM session)) * 1000 END;

-- The effect of each event. Snapshots before PyTorch 2.1 have no times: their events are spaced one microsecond apart.
-- Memory counts as free from the free request, when torch.cuda's counters fall; a completed free counts only if no
-- request was recorded.
CREATE OR REPLACE TEMP TABLE change AS
WITH timed AS (
    SELECT *, CASE WHEN is_timed THEN on_clock(time_us)
        ELSE (row_number() OVER (PARTITION BY device ORDER BY number) - 1) * 1000 END AS t
    FROM snapshot_event CROSS JOIN session
), ordered AS (
    SELECT *, max(t) OVER (PARTITION BY device ORDER BY number ROWS UNBOUNDED PRECEDING) AS latest_ns,
        lag(action) OVER (
            PARTITION BY device, address, action IN ('alloc', 'free_requested', 'free_completed', 'free')
            ORDER BY number
        ) AS action_before
    FROM timed
)
SELECT number, device, address, stack_id, device_free, CASE WHEN t IS NOT NULL THEN latest_ns END AS time_ns,
    CASE WHEN action = 'oom' THEN 'out_of_memory' WHEN starts_with(action, 'segment_') THEN 'segment'
        ELSE 'memory' END AS kind,
    CASE WHEN action IN ('alloc', 'segment_alloc', 'segment_map', 'oom') THEN bytes ELSE -bytes END AS bytes
FROM ordered WHERE action <> 'free_completed' OR action_before IS DISTINCT FROM 'free_requested';

-- Memory of each device when the snapshot was taken. Its blocks fit the trace if the memory that remains allocated is
-- in them; not if recording ended earlier or the file is truncated.
CREATE OR REPLACE TEMP TABLE held AS
WITH last AS (
    SELECT device, address, arg_max(bytes, number) AS bytes FROM change WHERE kind = 'memory' GROUP BY device, address
), missing AS (
    SELECT device, count(*) AS missing FROM last
    WHERE bytes > 0 AND NOT EXISTS (
        FROM snapshot_block AS block WHERE block.device = last.device AND block.address = last.address
            AND block.state = 'active_allocated' AND block.requested_bytes = last.bytes
    ) GROUP BY device
), block AS (
    SELECT device, sum(requested_bytes) AS bytes FROM snapshot_block WHERE state = 'active_allocated' GROUP BY device
), segment AS (
    SELECT device, sum(bytes) AS reserved_bytes FROM snapshot_segment GROUP BY device
)
SELECT device, coalesce(block.bytes, 0) AS bytes, coalesce(reserved_bytes, 0) AS reserved_bytes,
    coalesce(missing, 0) AS missing
FROM (SELECT DISTINCT device FROM change UNION SELECT device FROM segment)
LEFT JOIN block USING (device) LEFT JOIN segment USING (device) LEFT JOIN missing USING (device);

-- Backward from the end: a device holds after an event its final amount less all later changes.
CREATE OR REPLACE TEMP TABLE level AS
WITH later AS (
    SELECT change.*, missing,
        held.bytes - coalesce(sum(change.bytes) FILTER (kind = 'memory') OVER later, 0) AS allocated_bytes,
        reserved_bytes - coalesce(sum(change.bytes) FILTER (kind = 'segment') OVER later, 0) AS reserved
    FROM change JOIN held USING (device)
    WINDOW later AS (PARTITION BY device ORDER BY number ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
)
SELECT * EXCLUDE (allocated_bytes, reserved, missing),
    CASE WHEN missing = 0 THEN TRY_CAST(allocated_bytes AS BIGINT) END AS allocated_bytes,
    CASE WHEN missing = 0 THEN TRY_CAST(reserved AS BIGINT) END AS reserved_bytes
FROM later;

CREATE OR REPLACE TEMP TABLE tensor_row AS
SELECT * EXCLUDE (device_free), 1 AS rank FROM level
UNION ALL BY NAME
SELECT row_number() OVER (ORDER BY address) AS number, device, address, stack_id, 0 AS time_ns, 'before' AS kind,
    requested_bytes AS bytes, 0 AS rank
FROM snapshot_block SEMI JOIN (FROM held WHERE missing = 0) AS held USING (device)
WHERE state = 'active_allocated' AND NOT EXISTS (
    FROM change WHERE change.device = snapshot_block.device AND change.address = snapshot_block.address
        AND kind = 'memory'
)
UNION ALL BY NAME
SELECT device AS number, device, coalesce(on_clock(end_us), (SELECT max(time_ns) FROM change), 0) AS time_ns,
    'state' AS kind, 0 AS bytes, TRY_CAST(held.bytes AS BIGINT) AS allocated_bytes,
    TRY_CAST(reserved_bytes AS BIGINT) AS reserved_bytes, 2 AS rank
FROM held CROSS JOIN session WHERE missing = 0;

-- Annotations name no thread: they get a thread of their own, and so do allocations.
DROP TABLE temp.staged_range;
CREATE TEMP VIEW staged_range AS
SELECT range_id, on_clock(begin_us) AS start_ns,
    on_clock(coalesce(end_us, (SELECT session.end_us FROM session))) AS end_ns, end_us IS NOT NULL AS closed,
    'PushPop' AS style, name_id, 0::BIGINT AS global_tid, NULL::BIGINT AS end_global_tid
FROM snapshot_annotation;
