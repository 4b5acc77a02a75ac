-- title: Distributed run of a process
-- The rank of the process, of how many, and when its capture ran by the clock of its machine: what tells which reports
-- are of one run where their names do not.
-- page: scaling
-- needs: distributed
-- includes: selection
-- column: rank | count | | rank of the process
-- column: ranks | count | | processes of the run; empty where the trace does not say
-- column: backend | text | | for example nccl
-- column: begin_ns | ns | | when the capture began, since 1970 UTC; empty where the report does not say
-- column: end_ns | ns | | when it ended
SELECT rank, world_size AS ranks, backend, epoch_ns(captured_at) + capture_window.start_ns AS begin_ns,
    epoch_ns(captured_at) + capture_window.end_ns AS end_ns
FROM distributed CROSS JOIN (SELECT any_value(captured_at) AS captured_at FROM report) CROSS JOIN capture_window
ORDER BY rank LIMIT 1;
