"""System calls that a sandboxed program may not make, as the filter that the kernel runs (seccomp, classic BPF).

Out: the bytes of a program for this machine's kind of processor, or none for one that is not in the table. What is
refused is what an ordinary program has no use for and escapes are made of: looking into other processes, mounting,
further namespaces, kernel modules and keys, io_uring, performance counters. A refused call fails with EPERM; a program
of another architecture's calls is killed. The namespaces are the wall; this is the fence in front of it.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator

import msgspec

LOAD, JUMP_IF_EQUAL, JUMP_IF_GREATER_OR_EQUAL, JUMP_IF_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, KILL, FAIL_WITH = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, FIRST_ARGUMENT_AT = 0, 4, 16  # in the kernel's seccomp_data
NEW_NAMESPACES = 0x7E020000  # every CLONE_NEW… flag that clone() takes
X32_CALLS_FROM = 0x40000000  # a second numbering of the same calls on x86_64
INSTRUCTION = struct.Struct("=HBBI")


class Processor(msgspec.Struct, frozen=True, kw_only=True):
    """What a kind of processor calls its system calls."""

    architecture: int  # AUDIT_ARCH_…
    clone: int
    refused: tuple[int, ...]


# The same on every kind of processor: open_tree … fspick, mount_setattr, pidfd_getfd, process_madvise, io_uring_….
REFUSED_EVERYWHERE = (428, 429, 430, 431, 432, 433, 442, 438, 440, 425, 426, 427)
CLONE3 = 435  # its flags stand in memory, where a filter cannot look; "not there" makes libraries use clone

PROCESSORS = {
    "x86_64": Processor(
        architecture=0xC000003E,
        clone=56,
        refused=(
            *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(165, 166, 155, 161, 272, 308),  # mount, umount2, pivot_root, chroot, unshare, setns
            *(
                175,
                176,
                313,
                246,
                320,
                169,
            ),  # init_module, delete_module, finit_module, kexec_load, …_file_load, reboot
            *(248, 249, 250, 321, 298, 323),  # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd
            *(
                303,
                304,
                300,
                163,
                179,
                103,
            ),  # name_to_handle_at, open_by_handle_at, fanotify_init, acct, quotactl, syslog
            *(164, 227, 159, 305, 167, 168),  # settimeofday, clock_settime, adjtimex, clock_adjtime, swapon, swapoff
            *(170, 171, 172, 173, 153),  # sethostname, setdomainname, iopl, ioperm, vhangup
        ),
    ),
    "aarch64": Processor(
        architecture=0xC00000B7,
        clone=220,
        refused=(
            *(117, 270, 271, 272),
            *(40, 39, 41, 51, 97, 268),
            *(105, 106, 273, 104, 294, 142),
            *(217, 218, 219, 280, 241, 282),
            *(264, 265, 262, 89, 60, 116),
            *(170, 112, 171, 266, 224, 225),
            *(161, 162, 58),
        ),
    ),
}


def filter_program(machine: str | None = None) -> bytes | None:
    """The program for a kind of processor, this machine's if not given; None: there is none for it."""
    processor = PROCESSORS.get(machine or platform.machine())
    return b"".join(_instructions(processor)) if processor else None


def _instructions(processor: Processor) -> Iterator[bytes]:
    yield _instruction(LOAD, ARCHITECTURE_AT)
    yield from _unless(JUMP_IF_EQUAL, processor.architecture, KILL)
    yield _instruction(LOAD, NUMBER_AT)
    yield from _when(JUMP_IF_GREATER_OR_EQUAL, X32_CALLS_FROM, FAIL_WITH | errno.EPERM)
    for number in (*processor.refused, *REFUSED_EVERYWHERE):
        yield from _when(JUMP_IF_EQUAL, number, FAIL_WITH | errno.EPERM)
    yield from _when(JUMP_IF_EQUAL, CLONE3, FAIL_WITH | errno.ENOSYS)
    yield _instruction(JUMP_IF_EQUAL, processor.clone, if_false=3)
    yield _instruction(LOAD, FIRST_ARGUMENT_AT)
    yield from _when(JUMP_IF_BITS, NEW_NAMESPACES, FAIL_WITH | errno.EPERM)
    yield _instruction(RETURN, ALLOW)


def _when(test: int, value: int, verdict: int) -> tuple[bytes, bytes]:
    return _instruction(test, value, if_false=1), _instruction(RETURN, verdict)


def _unless(test: int, value: int, verdict: int) -> tuple[bytes, bytes]:
    return _instruction(test, value, if_true=1), _instruction(RETURN, verdict)


def _instruction(code: int, value: int, *, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction; the jumps count the instructions that are left out."""
    return INSTRUCTION.pack(code, if_true, if_false, value)
