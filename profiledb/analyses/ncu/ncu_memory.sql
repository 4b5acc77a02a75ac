-- title: Caches, memory and their traffic, by launch
-- One row per launch and figure; the value is empty if the report lacks its metrics. A sector has 32 bytes: few used
-- bytes of it, or more sectors per request than needed, indicate scattered accesses. A shared memory request takes one
-- wavefront, and one more per bank conflict.
-- page: kernel_profiles
-- needs: ncu_launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: part | text | | L1, L2, DRAM, global loads and stores, shared loads and stores, local memory
-- column: figure | text | | name of the value
-- column: value | text | | value in the base unit; the unit is in the next column
-- column: unit | text | | %, byte, byte/s, or empty for a number
-- column: metric | text | | metrics behind the value
WITH formula AS (
    -- value = factor * (a + plus) / (b + below); if a figure has several, the first with all its metrics.
    FROM (VALUES
        (1, 'L1', 'Throughput of the peak', '%', 1, 'l1tex__throughput.avg.pct_of_peak_sustained_active', NULL, NULL,
            NULL),
        (2, 'L1', 'Hit rate', '%', 1, 'l1tex__t_sector_hit_rate.pct', NULL, NULL, NULL),
        (3, 'L1', 'Hit rate of global loads', '%', 1, 'l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct', NULL,
            NULL, NULL),
        (4, 'L1', 'Hit rate of global stores', '%', 1, 'l1tex__t_sector_pipe_lsu_mem_global_op_st_hit_rate.pct', NULL,
            NULL, NULL),
        (5, 'L2', 'Throughput of the peak', '%', 1, 'lts__throughput.avg.pct_of_peak_sustained_elapsed', NULL, NULL,
            NULL),
        (6, 'L2', 'Hit rate', '%', 1, 'lts__t_sector_hit_rate.pct', NULL, NULL, NULL),
        (7, 'L2', 'Hit rate of reads', '%', 1, 'lts__t_sector_op_read_hit_rate.pct', NULL, NULL, NULL),
        (8, 'L2', 'Hit rate of writes', '%', 1, 'lts__t_sector_op_write_hit_rate.pct', NULL, NULL, NULL),
        (9, 'DRAM', 'Throughput of the peak', '%', 1, 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', NULL,
            NULL, NULL),
        (9, 'DRAM', 'Throughput of the peak', '%', 1, 'dram__throughput.avg.pct_of_peak_sustained_elapsed', NULL, NULL,
            NULL),
        (10, 'DRAM', 'Throughput', 'byte/s', 1, 'dram__bytes.sum.per_second', NULL, NULL, NULL),
        (10, 'DRAM', 'Throughput', 'byte/s', 1, 'dram__bytes_read.sum.per_second', 'dram__bytes_write.sum.per_second',
            NULL, NULL),
        (11, 'DRAM', 'Read', 'byte', 1, 'dram__bytes_read.sum', NULL, NULL, NULL),
        (12, 'DRAM', 'Written', 'byte', 1, 'dram__bytes_write.sum', NULL, NULL, NULL),
        (13, 'DRAM', 'Reads of the traffic', '%', 100, 'dram__bytes_read.sum', NULL, 'dram__bytes_read.sum',
            'dram__bytes_write.sum'),
        (13, 'DRAM', 'Reads of the traffic', '%', 100, 'dram__bytes_read.sum.per_second', NULL,
            'dram__bytes_read.sum.per_second', 'dram__bytes_write.sum.per_second'),
        (14, 'Global loads', 'Sectors for a request', '', 1,
            'l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio', NULL, NULL, NULL),
        (14, 'Global loads', 'Sectors for a request', '', 1, 'l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum', NULL,
            'l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum', NULL),
        (15, 'Global loads', 'Bytes used of a sector, of 32', 'byte', 1,
            'smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio', NULL, NULL, NULL),
        (15, 'Global loads', 'Bytes used of a sector, of 32', 'byte', 0.32,
            'smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct', NULL, NULL, NULL),
        (16, 'Global stores', 'Sectors for a request', '', 1,
            'l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio', NULL, NULL, NULL),
        (16, 'Global stores', 'Sectors for a request', '', 1, 'l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum', NULL,
            'l1tex__t_requests_pipe_lsu_mem_global_op_st.sum', NULL),
        (17, 'Global stores', 'Bytes used of a sector, of 32', 'byte', 1,
            'smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio', NULL, NULL, NULL),
        (17, 'Global stores', 'Bytes used of a sector, of 32', 'byte', 0.32,
            'smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct', NULL, NULL, NULL),
        (18, 'Shared loads', 'Bank conflicts of the wavefronts', '%', 100,
            'l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum', NULL,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum', NULL),
        (19, 'Shared loads', 'Wavefronts for a request (n-way)', '', 1,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum', NULL, 'smsp__sass_inst_executed_op_shared_ld.sum',
            NULL),
        (19, 'Shared loads', 'Wavefronts for a request (n-way)', '', 1,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum', NULL, 'sass__inst_executed_shared_loads', NULL),
        (20, 'Shared stores', 'Bank conflicts of the wavefronts', '%', 100,
            'l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum', NULL,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum', NULL),
        (21, 'Shared stores', 'Wavefronts for a request (n-way)', '', 1,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum', NULL, 'smsp__sass_inst_executed_op_shared_st.sum',
            NULL),
        (21, 'Shared stores', 'Wavefronts for a request (n-way)', '', 1,
            'l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum', NULL, 'sass__inst_executed_shared_stores', NULL),
        (22, 'Local memory', 'Load instructions', '', 1, 'smsp__sass_inst_executed_op_local_ld.sum', NULL, NULL, NULL),
        (22, 'Local memory', 'Load instructions', '', 1, 'sass__inst_executed_local_loads', NULL, NULL, NULL),
        (23, 'Local memory', 'Store instructions', '', 1, 'smsp__sass_inst_executed_op_local_st.sum', NULL, NULL, NULL),
        (23, 'Local memory', 'Store instructions', '', 1, 'sass__inst_executed_local_stores', NULL, NULL, NULL),
        (24, 'Local memory', 'Requests that spill registers', '', 1, 'derived__local_spilling_requests', NULL, NULL,
            NULL),
        (25, 'Local memory', 'Spills of the requests to L1', '%', 1, 'derived__local_spilling_requests_pct', NULL, NULL,
            NULL)
    ) AS formula (position, part, figure, unit, factor, a, plus, b, below)
), named AS (
    SELECT metric_id, name FROM ncu_metric_name WHERE name IN (SELECT unnest([a, plus, b, below]) FROM formula)
), metric AS (
    SELECT launch_id, map_from_entries(list((name, value))) AS by_name
    FROM ncu_metric JOIN named USING (metric_id)
    WHERE value IS NOT NULL AND NOT (value = 0 AND name LIKE '%\_average\_%' ESCAPE '\') -- 0: no request at all
        AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
    GROUP BY launch_id
), answer AS (
    SELECT launch_id, position, part, figure, unit, row_number() OVER () AS place,
        concat_ws(' ', a, plus, b, below) AS metric,
        factor * (by_name[a] + CASE WHEN plus IS NULL THEN 0 ELSE by_name[plus] END)
            / nullif(CASE WHEN b IS NULL THEN 1 ELSE by_name[b] END
                + CASE WHEN below IS NULL THEN 0 ELSE by_name[below] END, 0)
            AS value
    FROM ncu_launch CROSS JOIN formula LEFT JOIN metric USING (launch_id)
    WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
)
SELECT launch_id, part, figure, arg_min(value, place) FILTER (value IS NOT NULL) AS value, unit,
    arg_min(metric, place) FILTER (value IS NOT NULL) AS metric
FROM answer
GROUP BY launch_id, position, part, figure, unit
ORDER BY launch_id, position;
