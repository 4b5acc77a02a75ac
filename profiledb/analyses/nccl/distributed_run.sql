-- title: Distributed run of a process
-- Rank of the process, number of ranks, and the time of its capture on the machine's clock: identifies reports of one
-- run. A trace states the rank itself; in a report of Nsight Systems it comes from the environment that the launcher
-- (torchrun, SLURM, MPI) gave the program. No row if neither states it.
-- page: scaling
-- needs: distributed or system_info
-- includes: selection
-- column: rank | count | | rank of the process
-- column: ranks | count | | number of processes of the run; empty if the report does not state it
-- column: backend | text | | communication backend, for example nccl
-- column: run_id | text | | hash of the launcher's name of the run; empty if it has none
-- column: restarts | count | | restarts of the run before this process; empty if the launcher does not count them
-- column: host | text | | name of the machine; empty if the report does not state it
-- column: begin_ns | ns | | start of the capture, since 1970 UTC; empty if the report does not state it
-- column: end_ns | ns | | end of the capture, since 1970 UTC
WITH fact AS (
    SELECT any_value(value) FILTER (name = 'RUN_RANK') AS rank, any_value(value) FILTER (name = 'RUN_RANKS') AS ranks,
        any_value(value) FILTER (name = 'RUN_ID') AS run_id,
        any_value(value) FILTER (name = 'RUN_RESTARTS') AS restarts,
        any_value(value) FILTER (name = 'RUN_HOST') AS host
    FROM system_info
), candidate AS (
    SELECT rank, world_size AS ranks, backend, NULL AS run_id, NULL AS restarts, NULL AS host FROM distributed
    UNION ALL SELECT TRY_CAST(rank AS BIGINT), TRY_CAST(ranks AS BIGINT), NULL, run_id, TRY_CAST(restarts AS BIGINT),
        host FROM fact WHERE rank IS NOT NULL
)
SELECT rank, ranks, backend, run_id, restarts, host,
    epoch_ns(captured_at) + capture_window.start_ns AS begin_ns,
    epoch_ns(captured_at) + capture_window.end_ns AS end_ns
FROM candidate CROSS JOIN (SELECT any_value(captured_at) AS captured_at FROM report) CROSS JOIN capture_window
ORDER BY rank LIMIT 1;
