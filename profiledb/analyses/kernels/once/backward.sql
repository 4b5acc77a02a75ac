-- What tells of a backward pass, looked for once for all rules about training.
-- once: paths
-- tells: autograd_thread, backward_path
CREATE OR REPLACE TEMP TABLE once_autograd_thread AS FROM autograd_thread;
CREATE OR REPLACE TEMP VIEW autograd_thread AS FROM once_autograd_thread;

CREATE OR REPLACE TEMP TABLE once_backward_path AS FROM backward_path;
CREATE OR REPLACE TEMP VIEW backward_path AS FROM once_backward_path;
