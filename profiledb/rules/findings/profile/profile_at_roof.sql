-- title: At the roof
-- question: Which kernels cannot become faster with the same work?
-- The share of the measured kernel time in launches at 85 % or more of their roof: the bandwidth of the device memory
-- or the peak of their arithmetic (page Roofline). Without the roofline only the bandwidth is known, and the value is a
-- lower bound. Such kernels gain little more: only less work or less traffic makes them faster.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 10 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel at its roof with the most time
-- column: note | text | | share of its roof that it reaches
-- column: launches | count | | measured launches at their roof
-- says: {value} of the measured kernel time is in kernels at their roof; most in {kernel}, which runs at {note}.
-- clear: {value} of the measured kernel time is in kernels at their roof.
-- advice: [memory, CuPy] Move fewer bytes in {kernel}: fuse it with its neighbors (`cupy.fuse`), use smaller types, keep data in caches.
-- advice: [memory, else, PyTorch, not torch.compile] Move fewer bytes in {kernel}: fuse it with its neighbors (`torch.compile`), use smaller types, keep data in caches.
-- advice: [memory, else] Move fewer bytes in {kernel}: fuse it with its neighbors so that data goes through memory once, use smaller types, keep data in caches.
-- advice: [compute] Compute less in {kernel}: a lower precision or tensor cores have a higher roof; another algorithm needs fewer operations.
-- source: Roofline as on the page Roofline; 85 %: memory-bound kernels of the samples with nothing to fix reach 85 to 95 %, those with something to fix less than 85 %
WITH judged AS (
    SELECT launch_id, readable, ns, calls, roof_note AS note, roof_pct, roof, coalesce(is_at_roof, false) AS is_at
    FROM finding_launch LEFT JOIN finding_roof USING (launch_id)
), shown AS (
    SELECT {'name': readable, 'note': note, 'value': roof_pct, 'ns': ns, 'count': calls, 'launch': launch_id} AS piece,
        ns AS weight, launch_id
    FROM judged WHERE is_at ORDER BY ns DESC, launch_id LIMIT 10
)
SELECT CASE WHEN count(roof_pct) > 0 THEN 100.0 * coalesce(sum(ns) FILTER (is_at), 0) / nullif(sum(ns), 0) END AS value,
    arg_max(readable, ns) FILTER (is_at) AS kernel, arg_max(note, ns) FILTER (is_at) AS note,
    arg_max(roof, ns) FILTER (is_at) AS cause, count(*) FILTER (is_at) AS launches,
    CASE WHEN count(roof_pct) = 0
        THEN 'Work and traffic were not measured: profile with `--set roofline`.' END AS unjudged,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged;
