-- title: CPU waits for communication
-- question: Does the CPU wait for communication to end before it launches the next work?
-- The idle time after communication that the CPU waits for, as a share of the active span (first to last operation of
-- each GPU). A gap right after a communication kernel counts if a thread of the process is in a synchronization call
-- that starts before the kernel ends, or at most `within_ns` later. Launching ahead saves these gaps.
-- needs: kernel
-- needs: api_call
-- includes: finding, work, memory, nccl, idle
-- selects: part
-- once: span, functions, compute, communication
-- parts: idle
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: within_ns = 1000000 a call that starts later does not belong to the communication
-- column: gap_ns | ns | | idle time after communication while the CPU waits
-- column: gaps | count | | number of these gaps
-- column: function | name | | call with most of this time
-- says: After {gaps} {gaps|collective|collectives} the CPU waits in {function}, and the GPU is idle for {gap_ns} ({value} of the time).
-- clear: The GPU idles for {value} of the time after communication that the CPU waits for.
-- advice: [PyTorch] Do not wait right after a collective in {place|the step}: no `torch.cuda.synchronize()` and no `.item()`. Kernels of the same stream wait by themselves, others by `work.wait()` or an event.
-- advice: [else, JAX or XLA] Do not wait right after a collective in {place|the step}: no `block_until_ready()`.
-- advice: [else] Do not wait right after a collective in {place|the step}: no `cudaDeviceSynchronize`. Kernels of the same stream wait by themselves, others by an event.
-- source: nsys-ai (a synchronization up to 1 ms after NCCL, repeatedly); idle time instead of the count: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS gap_ns, 0 AS gaps, NULL AS function, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM finding_communication);

WITH gap AS MATERIALIZED (SELECT device_id, a, b FROM selected_hole(2000)
), after AS (  -- the gap that starts where the kernel ends
    SELECT comm.kernel_id, comm.global_pid, gap.device_id, a, b
    FROM gap JOIN finding_communication AS comm ON comm.device_id = gap.device_id AND comm.end_ns = gap.a
), waits AS (
    SELECT pid_of(global_tid) AS pid, start_ns, end_ns, function
    FROM selected_api_call JOIN (FROM api_function WHERE category = 'synchronization') USING (name_id)
), met AS (  -- the last wait that started before the gap's end, or up to within_ns after the kernel
    SELECT after.*, function, waits.start_ns, waits.end_ns
    FROM (SELECT *, pid_of(global_pid) AS pid, least(b, a + $within_ns::BIGINT) AS latest FROM after) AS after
    ASOF JOIN waits ON after.pid = waits.pid AND after.latest >= waits.start_ns
    WHERE waits.end_ns > a
), total AS (SELECT coalesce(sum(b - a), 0)::BIGINT AS gap_ns, count(*) AS gaps FROM met
), shown AS (
    SELECT {'name': function, 'ns': b - a, 'start_ns': a, 'end_ns': b, 'device': device_id} AS piece
    FROM met ORDER BY b - a DESC, a LIMIT 10
)
SELECT 100.0 * gap_ns / nullif(finding_window.ns, 0) AS value, gap_ns AS saving_ns, gap_ns, gaps,
    (SELECT function FROM met GROUP BY function ORDER BY sum(b - a) DESC, function LIMIT 1) AS function,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
