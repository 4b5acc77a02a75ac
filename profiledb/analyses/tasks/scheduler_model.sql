-- title: What the model of a scheduler looks at
-- One row per task and device of the model: the cost of a call, a matrix row, a moved byte, an operation and a byte of
-- a large result. A predicted time is their sum (model.TASK.DEVICE.TERM of NAME.meta.json). Terms of 0 do not count and
-- are empty.
-- page: cpu_vs_gpu
-- needs: meta
-- includes: sidecar
-- column: task | text | | task that was computed
-- column: device | text | | cpu or gpu, copies included
-- column: call_ns = Call | ns | .1f | cost of every run
-- column: row_ns = Row | ns | .2f | cost per row of the matrix
-- column: bytes_per_s = Bytes | bytes/s | .3g | bytes to and from the GPU per second: inverse of the cost per byte
-- column: operations_per_s = Operations | FLOP/s | .3g | operations per second: inverse of the cost per operation
-- column: result_bytes_per_s = Large results | bytes/s | .3g | bytes per second of results above 32 MiB, in addition: inverse of the cost per such byte
WITH term AS (
    SELECT TRY_CAST(value AS DOUBLE) AS seconds, regexp_extract(
        key, '^model\.(.+)\.(cpu|gpu)\.(call|row|byte|operation|result_byte)$', ['task', 'device', 'term']
    ) AS parts
    FROM meta WHERE regexp_matches(key, '^model\..+\.(cpu|gpu)\.(call|row|byte|operation|result_byte)$')
), cost AS (
    SELECT parts.task AS task, parts.device AS device, parts.term AS term, any_value(seconds) AS seconds
    FROM term WHERE seconds > 0 AND isfinite(seconds) GROUP BY ALL
)
SELECT task, device, 1e9 * any_value(seconds) FILTER (term = 'call') AS call_ns,
    1e9 * any_value(seconds) FILTER (term = 'row') AS row_ns,
    1 / any_value(seconds) FILTER (term = 'byte') AS bytes_per_s,
    1 / any_value(seconds) FILTER (term = 'operation') AS operations_per_s,
    1 / any_value(seconds) FILTER (term = 'result_byte') AS result_bytes_per_s
FROM cost GROUP BY task, device ORDER BY task, device;
