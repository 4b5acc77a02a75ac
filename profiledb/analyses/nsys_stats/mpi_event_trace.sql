-- title: MPI event trace
-- One row per MPI call in order of start, as `nsys stats -r mpi_event_trace` prints them: sizes in MB of 1,000,000
-- bytes with three decimals, so small sizes show as 0.000. Among calls with the same start, messages come first, then
-- starts and waits, other calls, and collectives, each in the order of the export. Calls without a recorded end have no
-- end and no duration. Calls with an end before their start are left out, unlike in nsys. If the export lists no ranks,
-- nsys prints nothing; here the calls have no rank.
-- needs: mpi_call
-- includes: selection
-- selects: part
-- column: Start (ns) | ns | | start of the call
-- column: End (ns) | ns | | end of the call
-- column: Duration (ns) | ns | | duration of the call
-- column: Event | text | | name of the function
-- column: Pid | id | | process id
-- column: Tid | id | | thread
-- column: Tag | number | | tag of the message
-- column: Rank | number | | rank of the thread
-- column: PeerRank | number | | rank at the other end of a message
-- column: RootRank | number | | root of a collective
-- column: Size (MB) | MB | .3f | size of a message
-- column: CollSendSize (MB) | MB | .3f | size that a collective sends
-- column: CollRecvSize (MB) | MB | .3f | size that a collective receives
SELECT start_ns AS "Start (ns)", end_ns AS "End (ns)", end_ns - start_ns AS "Duration (ns)", value AS "Event",
    pid_of(mpi_call.global_tid) AS "Pid", tid_of(mpi_call.global_tid) AS "Tid", tag AS "Tag",
    mpi_rank.rank AS "Rank", CASE kind WHEN 'p2p' THEN mpi_call.rank END AS "PeerRank",
    CASE kind WHEN 'collective' THEN mpi_call.rank END AS "RootRank",
    CASE kind WHEN 'p2p' THEN bytes / 1e6 END AS "Size (MB)",
    CASE kind WHEN 'collective' THEN bytes / 1e6 END AS "CollSendSize (MB)",
    received_bytes / 1e6 AS "CollRecvSize (MB)"
FROM selected_mpi_call AS mpi_call
LEFT JOIN string ON string_id = name_id
LEFT JOIN mpi_rank ON mpi_rank.global_tid = mpi_call.global_tid
ORDER BY start_ns, call_id;
