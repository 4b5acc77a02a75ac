-- Shares of a peak, and the words for those that cannot be.

-- The highest share of a peak, percent, that is told as a fact: clocks and rounding leave a little above 100.
CREATE OR REPLACE MACRO most_of_peak() AS 105;

-- A share of a peak in percent; NULL where it cannot be, which `peak_contradiction` then tells, or is not known.
CREATE OR REPLACE MACRO share_of_peak(achieved, peak) AS
CASE WHEN 100.0 * achieved / nullif(peak, 0) <= most_of_peak() THEN 100.0 * achieved / nullif(peak, 0) END;

-- A rate in words: 4.119 TFLOP/s.
CREATE OR REPLACE MACRO rate_in_words(per_s, unit) AS CASE
    WHEN per_s >= 1e15 THEN format('{:.4g} P', per_s / 1e15) WHEN per_s >= 1e12 THEN format('{:.4g} T', per_s / 1e12)
    WHEN per_s >= 1e9 THEN format('{:.4g} G', per_s / 1e9)
    ELSE format('{:.4g} M', per_s / 1e6) END || unit || '/s';

-- Why a share of a peak is not told: what it would be, of what, and what it comes from; NULL where the share is told.
-- `peak_name` and `basis` may be NULL.
CREATE OR REPLACE MACRO peak_contradiction(achieved, peak, unit, peak_name, basis) AS
CASE WHEN 100.0 * achieved / nullif(peak, 0) > most_of_peak() THEN concat(
    format('Contradiction: {:,.0f} % of the peak, ', 100.0 * achieved / peak), rate_in_words(achieved, unit),
        ' against ',
    rate_in_words(peak, unit), ' (' || peak_name || ')', '. ' || basis || '.'
) END;
