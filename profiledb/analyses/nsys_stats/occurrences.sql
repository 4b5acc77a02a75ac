-- title: Occurrences of a name
-- Events of one name in the order of their starts, which the pace recipes of nsys count as iterations. Kernels go by
-- their short name, ranges by their text without the domain. Ranges count if they are closed.
-- includes: selection
-- selects: part
-- param: of = kernels (kernels, ranges, range_projections) kind of event
-- param: name =  short name of the kernel, or text of the range
-- column: start_ns | ns | | begin of the event since the session began
-- column: end_ns | ns | | time at which the event is over, since the session began
SELECT start_ns, end_ns
FROM (
    SELECT start_ns, end_ns, kernel_id AS id
    FROM selected_kernel JOIN kernel_name USING (name_id) WHERE $of = 'kernels' AND short = $name
    UNION ALL BY NAME
    SELECT start_ns, end_ns, range_id AS id
    FROM selected_range JOIN range_name USING (name_id) WHERE $of = 'ranges' AND closed AND text = $name
    UNION ALL BY NAME
    SELECT projection.start_ns, projection.end_ns, range_id AS id
    FROM projection JOIN selected_range AS range USING (range_id) JOIN range_name USING (name_id)
    WHERE $of = 'range_projections' AND mode = 'thread' AND closed AND text = $name
)
ORDER BY start_ns, id;
