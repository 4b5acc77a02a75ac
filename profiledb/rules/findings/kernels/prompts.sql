-- title: Whole prompts computed
-- question: How much of the time does a model that generates take for whole prompts, which may begin alike?
-- The time of prompts as a share of the active span (first to last operation of each GPU). A prompt is a pass in which
-- a normalization or an activation has `ratio` times as many blocks as in the passes that follow, which add a token
-- each. All of them run the same layers: after a prompt come `tokens` times as many launches or more, a multiple, with
-- one grid. The value is 0 if there are fewer than `prompts` prompts. A program need not compute their common beginning
-- (a system prompt, a document, earlier turns) again, but no report shows tokens: the fix is a choice, and its saving
-- is unknown.
-- needs: kernel
-- includes: finding, tokens
-- selects: part
-- once: span, names
-- weight: low
-- unit: %
-- fires: above
-- param: threshold = 25 fires at or above this share of the active span
-- param: prompts = 6 fewest prompts
-- param: ratio = 16 fewest times by which a prompt has more blocks than a pass of a token
-- param: tokens = 8 fewest tokens that follow a prompt
-- column: prompts | count | | passes that compute a whole prompt
-- column: prompt_ns | ns | | median time of such a pass, up to the next one
-- column: kernel | name | | kernel whose grid tells prompts
-- column: blocks | count | | blocks of its grid in each prompt, if prompts have one length
-- column: ratio | ratio | | times as many blocks as in the passes that follow, at least
-- says: {prompts} prompts of one length take {value} of the time, {prompt_ns} each (median): the grid of {kernel} has {blocks} blocks in each, {ratio} times as many as in the tokens that follow. No report shows whether they begin alike.
-- says: {prompts} prompts of several lengths take {value} of the time, {prompt_ns} each (median): the grid of {kernel} has at least {ratio} times as many blocks in them as in the tokens that follow. No report shows whether they begin alike.
-- clear: Whole prompts take {value} of the time.
-- advice: [vLLM] If prompts begin alike (a system prompt, a document, earlier turns), compute that part once: `--enable-prefix-caching`.
-- advice: [else, SGLang] If prompts begin alike (a system prompt, a document, earlier turns), compute that part once: start without `--disable-radix-cache`.
-- advice: [else, PyTorch] If prompts begin alike (a system prompt, a document, earlier turns), compute that part once: keep its keys and values (`past_key_values` in Transformers), and pass only the tokens after it.
-- advice: [else] If prompts begin alike (a system prompt, a document, earlier turns), compute that part once: keep its keys and values, and pass only the tokens after it.
-- advice: Put the text that all prompts share first, and the rest last: only a common beginning has the same keys and values.
-- source: ours
SELECT 0::DOUBLE AS value, 0 AS prompts, NULL AS prompt_ns, NULL AS kernel, NULL AS blocks, NULL AS ratio,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND $prompts::BIGINT > 0 AND $ratio::DOUBLE > 0 AND $tokens::BIGINT > 0
    AND NOT EXISTS (FROM finding_token_name);

WITH beside AS (
    SELECT *, lead(blocks) OVER lane AS next_blocks, lead(launches) OVER lane AS next_launches,
        lead(start_ns) OVER lane AS next_ns
    FROM finding_pass WINDOW lane AS (PARTITION BY device_id, stream_id, name_id ORDER BY pass)
), prompt AS MATERIALIZED (
    SELECT *, next_ns - start_ns AS ns FROM beside
    WHERE blocks >= $ratio::DOUBLE * next_blocks AND launches > 1
        AND next_launches >= $tokens::BIGINT * launches AND next_launches % launches = 0
), chosen AS (
    SELECT device_id, stream_id, name_id, launches FROM prompt GROUP BY device_id, stream_id, name_id, launches
    HAVING count(*) >= $prompts::BIGINT
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY sum(ns) DESC, name_id, stream_id, launches) = 1
), found AS MATERIALIZED (
    FROM prompt SEMI JOIN chosen USING (device_id, stream_id, name_id, launches)
), total AS (
    SELECT count(*) AS prompts, coalesce(sum(ns), 0)::BIGINT AS ns, median(ns)::BIGINT AS prompt_ns,
        min(name_id) AS name_id, CASE WHEN count(DISTINCT blocks) = 1 THEN min(blocks) END AS blocks,
        min(blocks / next_blocks) AS ratio
    FROM found
), shown AS (
    SELECT {
            'name': 'a prompt', 'ns': ns, 'count': launches, 'start_ns': start_ns, 'end_ns': next_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM found ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, prompts, prompt_ns,
    (SELECT readable FROM kernel_key WHERE kernel_key.name_id = total.name_id) AS kernel, blocks, ratio,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total;
