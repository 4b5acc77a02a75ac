-- Shares of a peak, and the words for impossible ones.

-- The highest share of a peak, percent, that is accepted: clocks and rounding can exceed 100 slightly.
CREATE OR REPLACE MACRO most_of_peak() AS 105;

-- A share of a peak in percent; NULL if it is impossible, which `peak_contradiction` then explains, or unknown.
CREATE OR REPLACE MACRO share_of_peak(achieved, peak) AS
CASE WHEN 100.0 * achieved / nullif(peak, 0) <= most_of_peak() THEN 100.0 * achieved / nullif(peak, 0) END;

-- A rate in words: 4.119 TFLOP/s.
CREATE OR REPLACE MACRO rate_in_words(per_s, unit) AS CASE
    WHEN per_s >= 1e15 THEN format('{:.4g} P', per_s / 1e15) WHEN per_s >= 1e12 THEN format('{:.4g} T', per_s / 1e12)
    WHEN per_s >= 1e9 THEN format('{:.4g} G', per_s / 1e9)
    ELSE format('{:.4g} M', per_s / 1e6) END || unit || '/s';

-- Reason for a missing share of a peak: the impossible share, its peak, and its inputs; NULL if the share is shown.
-- `peak_name` and `basis` may be NULL.
CREATE OR REPLACE MACRO peak_contradiction(achieved, peak, unit, peak_name, basis) AS
CASE WHEN 100.0 * achieved / nullif(peak, 0) > most_of_peak() THEN concat(
    format('Contradiction: {:,.0f} % of the peak, ', 100.0 * achieved / peak), rate_in_words(achieved, unit),
        ' against ',
    rate_in_words(peak, unit), ' (' || peak_name || ')', '. ' || basis || '.'
) END;
