-- title: Theoretical occupancy
-- question: Do registers, shared memory or block size keep warps away?
-- A theoretical occupancy under 80 % leaves few warps to hide latency: at most the part 1 - occupancy of the time is
-- saved, and never more than what is left to the peak of compute or memory. Kernels that are at the peak of either do
-- not count: matrix products run well at low occupancy. Nor do launches that do not fill the GPU once: there are no
-- more warps. The value weighs this part with the time of each kernel.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 10 share of the measured kernel time that mending saves at most, from which on it is said
-- column: kernel | name | | kernel that it costs most
-- column: note | text | | what was measured of it
-- column: launches | count | | measured launches for which it holds
-- says: Low theoretical occupancy costs up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Low theoretical occupancy costs at most {value} of the measured kernel time.
-- advice: [Numba] Let {kernel} use fewer registers (`@cuda.jit(max_registers=64)`), less shared memory per block, or another block size.
-- advice: [else, CuPy] Let {kernel} use fewer registers (`RawKernel(..., options=("-maxrregcount=64",))`), less shared memory per block, or another block size.
-- advice: [else] Let {kernel} use fewer registers (`__launch_bounds__`, `-maxrregcount`), less shared memory per block, or another block size.
-- advice: The occupancy curves of the launch on Kernel profiles tell which limit to move.
-- source: Nsight Compute, TheoreticalOccupancy: under 80 %, 1 - occupancy; bounded by the speed of light
WITH judged AS (
    SELECT launch_id, readable, ns, calls,
        format('{:.0f} % possible, {} registers per thread', theoretical_occupancy_pct, registers_per_thread) AS note,
        CASE WHEN theoretical_occupancy_pct < 80 AND greatest(sm_throughput_pct, memory_throughput_pct) < 60
                AND coalesce(waves_per_sm, 1) >= 1
                THEN least(1 - theoretical_occupancy_pct / 100, headroom)
            WHEN theoretical_occupancy_pct + sm_throughput_pct + memory_throughput_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
), shown AS (
    SELECT {
            'name': readable, 'note': note, 'value': 100 * gain, 'ns': round(gain * ns)::BIGINT, 'count': calls,
            'launch': launch_id
        } AS piece, gain * ns AS weight, launch_id
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 10
)
SELECT 100.0 * sum(gain * ns) / nullif(sum(ns), 0) AS value, round(sum(gain * ns))::BIGINT AS saving_ns,
    arg_max(readable, gain * ns) FILTER (gain > 0) AS kernel, arg_max(note, gain * ns) FILTER (gain > 0) AS note,
    count(*) FILTER (gain > 0) AS launches,
    CASE WHEN count(*) = 0
        THEN 'Occupancy was not measured: profile with `--section Occupancy --section SpeedOfLight`.' END AS unjudged,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged WHERE gain IS NOT NULL;
