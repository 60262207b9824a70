"""Inside a sandbox, before anything of a task is there: become another user, if that is left to us, and accept limits.

Run by the child itself, as its first lines (sandbox.py). Limits are hard, so what comes later cannot raise them. Memory
is limited per question (python_child.py).
"""

from __future__ import annotations

import os
import resource

# By user, so of all sandboxes of a worker that is root; of one sandbox where it is a user namespace. The kernel counts
# none for root itself, which is who a program still is if a root worker may make nothing but user namespaces.
PROCESSES_MAX = 256
DESCRIPTORS_MAX = 256
FILE_BYTES_MAX = 64 * 1024 * 1024

LIMITS = {
    resource.RLIMIT_CORE: 0,  # a core file would hold secrets
    resource.RLIMIT_NOFILE: DESCRIPTORS_MAX,
    resource.RLIMIT_FSIZE: FILE_BYTES_MAX,
    resource.RLIMIT_NPROC: PROCESSES_MAX,
}


def confine(user: int) -> None:
    """Give up what can be given up. `user` 0: bubblewrap has seen to that."""
    for limit, most in LIMITS.items():
        hard = resource.getrlimit(limit)[1]
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (wanted, wanted))
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)  # the last of our capabilities go with it
