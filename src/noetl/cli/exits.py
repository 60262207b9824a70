"""The exit codes of every verb: part of what scripts rely on, so they never change their meaning."""

DONE = 0  # the work is done, the check found no error
FAILED = 1  # the workflow or the check failed
WRONG_INPUT = 2  # the input or the usage was wrong: nothing was started
UNREACHABLE = 3  # a service that is needed did not answer
WAITING = 4  # the run waits for a signal
INTERRUPTED = 130  # Ctrl-C; the run can be resumed
