-- title: Step times are not steady
-- question: Are step times steady enough for a meaningful mean?
-- The number of consecutive windows of 5 steps, from the first one on, whose step times have a standard deviation of at
-- least `cv` percent of their mean, among the steps that count (see "Outlier steps") in the loop of each process. Three
-- or more mean that warm-up still goes on, or that no step is typical. The rule needs at least 7 steps, which form 3
-- windows.
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps
-- parts: step_outliers
-- weight: warning
-- unit: count
-- fires: above
-- param: threshold = 3 fires at or above this number of windows in a row
-- param: cv = 15 a window is unsteady if its standard deviation is at least this share of the mean, percent
-- column: steps | count | | steps that count
-- column: cv_pct | % | .1f | standard deviation over the mean of all steps
-- column: least_cv_pct | text | | variation at or above which a window is unsteady, percent
-- column: wanted | count | | steps that a capture should have: twice as many, 20 at least
-- column: unsettled | count | | steps that count, if no window of them is steady
-- column: settling | count | | windows that are not steady, if later ones are
-- column: shortest_ns | ns | | the shortest step
-- column: longest_ns | ns | | the longest step
-- says: Step times never settle: of {unsettled} steps, any 5 in a row vary by {least_cv_pct} % or more. CPU and GPU together, the shortest takes {shortest_ns}, the longest {longest_ns}. Means and totals of such steps say little.
-- says: The first {value} windows of 5 steps vary by {least_cv_pct} % or more: of {steps} steps, CPU and GPU together, the shortest takes {shortest_ns}, the longest {longest_ns}. Means and totals of such steps say little.
-- clear: Step times settle; over all {steps} steps they vary by {cv_pct}.
-- advice: Find out what makes these {unsettled} steps differ: the loader, input of different lengths, other work on the machine. Then capture {wanted} or more.
-- advice: Warm up for longer, by {settling} {settling|step|steps} or more, and capture more of them: {wanted} or more. If that does not settle them, find out what makes them differ.
-- source: NVIDIA omniperf nsys-analyze (CV >= 0.15 in windows of 5, 3 in a row)
SELECT NULL AS value, 'The selection has fewer than 7 steps.' AS unjudged, NULL AS steps, 20 AS wanted, NULL AS cv_pct,
    format('{:g}', $cv::DOUBLE) AS least_cv_pct, NULL AS unsettled, NULL AS settling,
    NULL AS shortest_ns, NULL AS longest_ns, NULL AS evidence
FROM finding_step HAVING count(*) < 7;

WITH step AS MATERIALIZED (FROM finding_step
), rolled AS (
    SELECT pid, place, count(*) OVER five AS held, 100 * stddev_samp(ns) OVER five / avg(ns) OVER five AS cv
    FROM step WINDOW five AS (PARTITION BY pid ORDER BY place ROWS BETWEEN CURRENT ROW AND 4 FOLLOWING)
), loop AS (
    SELECT pid, count(*) AS steps, 100 * stddev_samp(ns) / avg(ns) AS cv_pct, min(ns) AS shortest_ns,
        max(ns) AS longest_ns
    FROM step GROUP BY pid HAVING count(*) >= 7
), steady AS (
    SELECT pid, coalesce(min(place) FILTER (cv < $cv::DOUBLE) - 1, count(*)) AS windows
    FROM rolled WHERE held = 5 GROUP BY pid
), worst AS (
    SELECT * FROM loop JOIN steady USING (pid) ORDER BY windows DESC, cv_pct DESC, pid LIMIT 1
), shown AS (
    SELECT ns, start_ns, {
            'name': path, 'ns': ns, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM step WHERE pid IN (SELECT pid FROM worst) ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT windows AS value, CASE WHEN steps IS NULL THEN 'The selection has fewer than 7 steps.' END AS unjudged,
    steps, greatest(20, 2 * steps) AS wanted, cv_pct, format('{:g}', $cv::DOUBLE) AS least_cv_pct,
    CASE WHEN windows > steps - 5 THEN steps END AS unsettled,
    CASE WHEN windows <= steps - 5 THEN windows END AS settling, shortest_ns, longest_ns,
    (SELECT list(piece ORDER BY ns DESC, start_ns) FROM shown) AS evidence
FROM (SELECT 1 AS one) LEFT JOIN worst ON true;
