-- title: Roofline of the launches that ncu measured
-- One row per launch, precision and memory level with both work and traffic, from any of the report's metrics. Peaks
-- hold at the clocks of the measurement. The roof at an intensity is min(peak_flops_per_s, intensity *
-- peak_bytes_per_s); work without arithmetic in this precision has intensity 0 and is compared with the traffic alone.
-- Tensor work is dense: peaks exclude sparsity.
-- page: roofline
-- needs: ncu_roofline_point
-- includes: selection, ncu
-- param: launch =  keeps this launch only
-- param: precision = all (all, main, fp64, fp32, fp16, tensor) keeps one precision; main is the one in which a launch comes closest to a peak
-- param: level = all (all, dram, l2, l1) keeps one level
-- column: launch_id = ID | id | | number of the launch, the ID of ncu's raw page
-- column: kernel | text | | full name with template arguments
-- column: grid | text | | blocks in x, y and z, or their number if the report has no more
-- column: block | text | | threads per block in x, y and z, or their number
-- column: duration_ns | ns | | duration under ncu's clock control
-- column: precision | text | | counted arithmetic: fp64, fp32 and fp16 on CUDA cores; tensor on tensor cores, of any type
-- column: level | text | | dram, l2 or l1
-- column: flops_per_s = Work | FLOP/s | .0f | work; an FMA counts as two
-- column: bytes_per_s = Traffic | bytes/s | .0f | traffic of the level
-- column: intensity | FLOP/byte | .3f | arithmetic intensity at this level
-- column: peak_flops_per_s | FLOP/s | .0f | peak of this precision at the measured clock, sm_clock_hz
-- column: peak_bytes_per_s | bytes/s | .0f | peak traffic of the level at the measured clock
-- column: pct_of_roof = Roof efficiency | % | .1f | work over the roof, empty above 105 %, which is impossible
-- column: roof_gap_ns = Saving at the roof | ns | .0f | time saved at the roof: duration × (1 − share of the roof); 0 above the roof
-- column: bound | text | | the verdict in one word: memory, compute or latency; empty where it was not measured
-- column: roof | text | | the roof above it: the memory left of the ridge point (dram, l2, l1), its precision right of it
-- column: estimated | text | | true if something was not measured directly; note says what
-- column: note = Estimated | text | | estimated values and their method
-- column: above_roof | text | | why the roof efficiency is empty: it would be above 105 %, which is impossible
-- column: is_main | text | | whether this is the precision in which the launch comes nearest to a peak; any where it does no arithmetic
-- column: types | text | | input types of the tensor work, most work first
-- column: ridge | FLOP/byte | .3f | intensity of the ridge point
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: verdict | text | | memory bound, compute bound, latency bound or not measured, by the speed of light
-- column: sm_clock_hz | Hz | .0f | clock of the SMs in the measurement, at which the peak of the work holds
-- column: nvtx | text | | NVTX ranges open at the launch
WITH name AS (
    SELECT demangled, any_value(class) AS class, any_value(short) AS short FROM kernel_name GROUP BY demangled
)
SELECT launch_id, kernel, coalesce(dimensions(grid_x, grid_y, grid_z), grid_size::VARCHAR) AS grid,
    coalesce(dimensions(block_x, block_y, block_z), block_size::VARCHAR) AS block, duration_ns, precision, level,
    flops_per_s, bytes_per_s, intensity, peak_flops_per_s, peak_bytes_per_s, pct_of_roof,
    CASE WHEN pct_of_roof >= 100 THEN 0 ELSE duration_ns * (1 - pct_of_roof / 100) END AS roof_gap_ns,
    verdict_word(ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct)) AS bound, roof,
    estimated, note, above_roof, is_main, types,
    peak_flops_per_s / peak_bytes_per_s AS ridge, readable_name(coalesce(short, kernel), kernel) AS name, class,
    ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict, sm_clock_hz, nvtx
FROM ncu_roofline_point JOIN ncu_launch USING (launch_id) LEFT JOIN name ON demangled = kernel
WHERE ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
    AND ($precision IN ('all', precision) OR ($precision = 'main' AND is_main))
    AND $level IN ('all', level)
ORDER BY launch_id, precision, array_position(['dram', 'l2', 'l1'], level);
