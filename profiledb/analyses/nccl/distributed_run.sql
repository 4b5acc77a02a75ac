-- title: Distributed run of a process
-- Rank of the process, number of ranks, and the time of its capture on the machine's clock: identifies reports of one
-- run if their names do not.
-- page: scaling
-- needs: distributed
-- includes: selection
-- column: rank | count | | rank of the process
-- column: ranks | count | | number of processes of the run; empty if the trace does not state it
-- column: backend | text | | communication backend, for example nccl
-- column: begin_ns | ns | | start of the capture, since 1970 UTC; empty if the report does not state it
-- column: end_ns | ns | | end of the capture, since 1970
SELECT rank, world_size AS ranks, backend, epoch_ns(captured_at) + capture_window.start_ns AS begin_ns,
    epoch_ns(captured_at) + capture_window.end_ns AS end_ns
FROM distributed CROSS JOIN (SELECT any_value(captured_at) AS captured_at FROM report) CROSS JOIN capture_window
ORDER BY rank LIMIT 1;
