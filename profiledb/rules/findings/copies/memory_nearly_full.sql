-- title: GPU memory nearly full
-- question: Is the memory of a GPU nearly full?
-- The most device memory that the program held at once, as a share of the GPU's memory; the fullest GPU counts. Memory
-- that a framework keeps in its pool counts; the CUDA context and other processes do not. Times of the selection do not
-- matter.
-- needs: memory_event
-- includes: finding, memory
-- selects: part
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 90 fires at or above this share of the GPU's memory
-- column: held_bytes | bytes | | most memory held at once
-- column: gpu_bytes | bytes | | memory of that GPU
-- column: gpu | name | | its name
-- says: The program holds up to {held_bytes}, {value} of the memory of {gpu}: the next larger batch fails, and the allocator starts to free and reallocate.
-- clear: The program holds up to {held_bytes}, {value} of the memory of the GPU.
-- advice: -> need_less_memory
-- advice: -> segments
-- advice: -> shard_memory
-- source: PyTorch TensorBoard plugin data.py (over 90 % of the memory)
WITH peak AS (
    SELECT held.device_id, max(held_bytes)::BIGINT AS held_bytes, arg_max(moment_ns, (held_bytes, -moment_ns)) AS at_ns
    FROM memory_held AS held WHERE held.device_id = selected_device() OR selected_device() IS NULL GROUP BY ALL
), full_gpu AS (
    SELECT peak.*, nullif(memory_bytes, 0) AS gpu_bytes, name, 100.0 * peak.held_bytes / gpu_bytes AS pct
    FROM peak LEFT JOIN gpu ON gpu_id = device_id
), fullest AS (SELECT * FROM full_gpu ORDER BY pct DESC NULLS LAST, device_id LIMIT 1
)
SELECT pct AS value, CASE WHEN pct IS NULL THEN 'The report does not tell how much memory the GPU has.' END AS unjudged,
    held_bytes, gpu_bytes, coalesce(name, 'GPU ' || device_id) AS gpu, [{
        'name': coalesce(name, 'GPU ' || device_id), 'bytes': held_bytes, 'start_ns': at_ns, 'end_ns': at_ns,
        'device': device_id
    }] AS evidence
FROM fullest;
