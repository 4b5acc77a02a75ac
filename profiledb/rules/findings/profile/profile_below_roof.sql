-- title: Below the roof
-- question: How far are kernels from their roof?
-- The share of the measured kernel time above the roof: time x (1 - share of the roof), at the traffic of the device
-- memory and the arithmetic closest to its peak. A perfect kernel saves it, with the same work and traffic. A kernel
-- may keep the SMs busy and yet be far below its roof: with loads, stores and integers.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 33 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- column: busy_pct | % | .0f | how busy its SMs are with other instructions, if that is at least twice its share of the roof
-- says: The measured kernels would take {value} less time at their roofs; most in {kernel}, which reaches {note} although its SMs are {busy_pct} busy with loads, stores and instructions other than floating-point arithmetic.
-- says: The measured kernels would take {value} less time at their roofs; most in {kernel}, which reaches {note}.
-- clear: The measured kernels would take {value} less time at their roofs.
-- advice: [instructions, PyTorch, eager] Fuse {kernel} with its neighbors (`torch.compile`), or give it contiguous tensors of one shape: index arithmetic and single loads keep its SMs busy.
-- advice: [instructions, else, not PyTorch] Compute more per load and store in {kernel}: keep data in registers and shared memory (tiles), load vectors, take index arithmetic out of its loops.
-- advice: [else, PyTorch kernel] -> replace_kernel
-- advice: [else] Start with {kernel}: its stalls and occupancy on Kernel profiles show why it stays below its roof.
-- source: Roofline as on the page Roofline (SpeedOfLight_RooflineChart); threshold: ours
WITH judged AS MATERIALIZED (
    SELECT launch_id, readable, ns, calls, format('{:.0f} % of {}', pct_of_roof, roof_title(roof)) AS note,
        is_torch_kernel(kernel) AS is_torch,
        greatest(0, 1 - pct_of_roof / 100) AS gain,
        CASE WHEN ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) = 'compute bound'
                AND sm_throughput_pct >= 2 * pct_of_roof THEN sm_throughput_pct END AS busy_pct
    FROM finding_launch
    JOIN (
        SELECT launch_id, pct_of_roof, roof FROM ncu_roofline_point WHERE is_main AND level = 'dram'
    ) USING (launch_id)
), main AS (
    SELECT busy_pct, CASE WHEN busy_pct IS NOT NULL THEN 'instructions' WHEN is_torch THEN 'PyTorch kernel' END AS cause
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 1
)
FROM finding_gain('judged', 'Work and traffic were not measured: profile with `--set roofline`.')
LEFT JOIN main ON true;
