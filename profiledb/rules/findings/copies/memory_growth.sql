-- title: Memory grows from step to step
-- question: Does the program hold more memory with each step?
-- The rise, from the first step to the last, of a straight line through the tensor memory at the start of each step
-- that counts (`tensor_growth`), as a share of the most that was held. It is 0 unless the 95 % interval of the slope
-- lies above 0. Without tensor events the rule takes CUDA allocations in the second half of the steps: an allocator
-- takes its pool in the first ones; one step that allocates is no growth. The device with the largest share counts. The
-- rule needs at least three steps.
-- needs: tensor_event or memory_event
-- needs: range
-- includes: finding, tensor_step, memory
-- selects: part
-- parts: allocation_in_loop
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 0.1 fires at or above this growth
-- column: holder | text | | holder of the memory: tensors, or CUDA allocations
-- column: device | text | | the device
-- column: steps | count | | steps that count
-- column: slope_bytes | bytes | .1f | growth per step
-- column: first_bytes | bytes | | memory held when the first of them starts
-- column: last_bytes | bytes | | memory held when the last of them starts
-- column: left_steps | count | | steps until the peak of a step fills the GPU's memory
-- says: Memory of {holder} on {device} grows by {slope_bytes} per step: {first_bytes} when the first of {steps} steps begins, {last_bytes} when the last does. At this rate the GPU is full {left_steps} {left_steps|step|steps} later.
-- says: Memory of {holder} on {device} grows by {slope_bytes} per step: {first_bytes} when the first of {steps} steps begins, {last_bytes} when the last does.
-- clear: Memory of {holder} does not grow over {steps} steps.
-- advice: [Trainer, inference or training] Find out what keeps tensors after their step: outputs that `compute_loss` or a callback stores, predictions held on the GPU (`eval_accumulation_steps`).
-- advice: [else, PyTorch] Find out what keeps tensors after their step: losses in a list with their graph (`loss.item()` or `.detach()` instead), caches, states passed from step to step.
-- advice: [else, JAX or XLA] Find out what keeps arrays after their step: lists of results, states passed from step to step without `donate_argnums`; `jax.live_arrays()` lists them.
-- advice: [else, CuPy] Find out what keeps arrays after their step: lists, caches, states passed from step to step; `cupy.get_default_memory_pool().used_bytes()` shows what they hold.
-- advice: [else] Find out what keeps arrays after their step: lists, caches, states passed from step to step.
-- advice: [PyTorch] The Memory page shows what each step keeps. A memory snapshot (`torch.cuda.memory._dump_snapshot`) adds the stacks.
-- source: least squares and Student's t; threshold: ours
WITH step AS (
    SELECT number, start_ns, end_ns, row_number() OVER (ORDER BY start_ns) AS nth, count(*) OVER () AS steps
    FROM selected_counted_step('process') QUALIFY rank = min(rank) OVER ()
), late AS (
    SELECT number, start_ns, end_ns, device_id FROM step CROSS JOIN (SELECT DISTINCT device_id FROM memory_held)
    WHERE 2 * nth > steps AND NOT has_rows('tensor_event') AND selected_tensor_device(1, device_id)
), held AS (  -- all memory allocated before the capture has the same time
    SELECT device_id, moment_ns, arg_max(held_bytes, event_id) AS held_bytes FROM memory_held GROUP BY ALL
), allocated AS MATERIALIZED (
    SELECT concat('GPU ', late.device_id) AS device, 1 AS device_type, late.device_id, number,
        held_bytes AS start_bytes, held_bytes AS peak_bytes
    FROM late ASOF JOIN held ON held.device_id = late.device_id AND late.start_ns > moment_ns
), grown AS (
    SELECT *, CASE WHEN steps < 3 THEN NULL WHEN slope - half > 0 THEN 100.0 * slope * (steps - 1) / most_bytes
        ELSE 0 END AS pct
    FROM (
        SELECT *, 'tensors' AS holder FROM selected_tensor_growth
        UNION ALL BY NAME
        SELECT * REPLACE (CASE WHEN levels > 2 THEN slope ELSE 0 END AS slope), 'CUDA allocations' AS holder
        FROM memory_growth('allocated') JOIN (
            SELECT device_id, count(DISTINCT start_bytes) AS levels FROM allocated GROUP BY device_id
        ) USING (device_id)
        WHERE EXISTS (FROM allocated)
    )
), forecast AS (
    SELECT grown.*,
        CASE WHEN pct > 0 THEN TRY_CAST(greatest(0, floor((memory_bytes - peak_bytes) / slope)) AS BIGINT) END
            AS left_steps
    FROM grown LEFT JOIN gpu ON gpu_id = CASE WHEN device_type <> 0 THEN device_id END AND memory_bytes > 0
), worst AS (
    SELECT * FROM forecast ORDER BY pct DESC NULLS LAST, device_type = 0, device LIMIT 1
)
SELECT pct AS value, CASE WHEN pct IS NULL THEN 'The selection has fewer than three steps'
        || CASE WHEN has_rows('tensor_event') THEN '.' ELSE ' in its second half.' END END AS unjudged,
    CASE holder WHEN 'CUDA allocations' THEN 'growth' END AS cause,
    holder, device, steps, slope AS slope_bytes, first_bytes, last_bytes, left_steps, (
        SELECT list({'name': device, 'bytes': TRY_CAST(slope AS BIGINT), 'count': steps,
            'device': CASE WHEN device_type = 1 THEN device_id END} ORDER BY pct DESC, device)
        FROM forecast WHERE pct > 0
    ) AS evidence
FROM (SELECT 1) LEFT JOIN worst ON true;
