-- title: Theoretical occupancy if the launch were another
-- ncu's estimates for other register counts, shared memory sizes and block sizes, all else unchanged. No rows for
-- launches without this curve, for example in ncu's text output.
-- page: kernel_profiles
-- needs: ncu_launch
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: what | text | | varied quantity: registers per thread, shared_mem per block in bytes, block_size in threads
-- column: x | text | | number of registers, bytes or threads
-- column: warps | count | .0f | warps that an SM would hold
-- column: occupancy_pct | % | .1f | share of the warps that it can hold
-- column: is_current | text | | whether this is the point of the launch: the first not below it
WITH point AS (
    SELECT launch_id,
        replace(replace(regexp_extract(name, '_occupancy_per_(\w+)$', 1), '_count', 's'), '_size', '') AS what,
        key AS x, max(value) FILTER (name LIKE 'launch%') AS warps, max(value) FILTER (name LIKE 'derived%') AS pct
    FROM launch_instance('(launch__|derived__pct_)occupancy_per_(register_count|shared_mem_size|block_size)')
    WHERE key IS NOT NULL AND ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
    GROUP BY ALL
), placed AS (
    SELECT launch_id, CASE what WHEN 'block' THEN 'block_size' ELSE what END AS what, x, warps,
        coalesce(100 * warps / nullif(max_warps, 0), pct) AS occupancy_pct,
        CASE what WHEN 'registers' THEN registers_per_thread WHEN 'block' THEN block_size
            ELSE shared_bytes(shared_static_bytes, shared_dynamic_bytes, shared_driver_bytes) END AS here
    FROM point JOIN ncu_launch USING (launch_id) JOIN launch_warps USING (launch_id)
)
SELECT launch_id, what, x, warps, occupancy_pct,
    coalesce(x = min(x) FILTER (x >= here) OVER (PARTITION BY launch_id, what), false) AS is_current
FROM placed
ORDER BY launch_id, list_position(['registers', 'shared_mem', 'block_size'], what), x;
