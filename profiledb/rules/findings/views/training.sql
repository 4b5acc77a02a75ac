-- Building blocks of the rules about training: which kernels a backward pass launched.
-- includes: idle

-- The kernels of the selection with whether a backward pass launched them: PyTorch's autograd does so on threads of its
-- own, which it calls pt_autograd_0 and so on. Where no thread is called so, ranges around the launch tell by their
-- names.
CREATE OR REPLACE VIEW finding_trained_kernel AS
WITH autograd AS MATERIALIZED (SELECT global_tid FROM thread WHERE contains(name, 'pt_autograd')
), named AS MATERIALIZED (
    SELECT path_id FROM path_pattern WHERE regexp_matches(pattern, '(?i)backward|(^|[^a-z])bwd([^a-z]|$)')
)
SELECT kernel.*, CASE WHEN EXISTS (FROM autograd) THEN coalesce(call.global_tid IN (FROM autograd), false)
    ELSE coalesce(path_id IN (FROM named), false) END AS is_backward
FROM selected_kernel AS kernel
LEFT JOIN (
    SELECT call_id, global_tid FROM api_call WHERE EXISTS (FROM autograd)
) AS call USING (call_id)
LEFT JOIN (
    SELECT pre, path_id FROM range WHERE NOT EXISTS (FROM autograd)
) AS around ON around.pre = coalesce(process_range, thread_range)
WHERE EXISTS (FROM autograd) OR EXISTS (FROM named);
