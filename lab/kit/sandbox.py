"""A process into one whose namespaces, mounts and children die with it.

The lab runs in PID, mount and network namespaces of its own, with `/run/netns` and its scratch folder on
a private tmpfs. Whatever happens to it, also SIGKILL: the kernel ends every process in it and drops every
namespace, mount and file, so nothing needs to be tidied up and two labs never meet.
"""

import contextlib
import ctypes
import os
import signal
import struct
import subprocess
import sys

SCRATCH = "/run/slowside-lab"
INSIDE = "SLOWSIDE_LAB_INSIDE"
# The kernel lets who asks for little at a time run as soon as it is woken, also beside those who compute.
SLICE_NS = 100_000


def enter():
    """Returns inside the sandbox only; outside it, runs this same program there and exits as that did."""
    if os.environ.get(INSIDE):
        _furnish()
        return
    if os.geteuid() != 0:
        sys.exit("lab: needs root (network namespaces, TAP interfaces, captures); run it with sudo")
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inside = subprocess.Popen([*command, sys.executable, *sys.argv], env={**os.environ, INSIDE: "1"}, preexec_fn=_die_with_parent)
    try:
        sys.exit(inside.wait())
    except KeyboardInterrupt:
        inside.kill()
        sys.exit(130)


def _die_with_parent():
    """The process that waits outside may be killed, too: then this one is, and with it the namespaces."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _furnish():
    def sh(*command):
        subprocess.run(command, check=True)

    sh("mount", "--make-rprivate", "/")
    # A clean /run also keeps daemons of the lab from the machine's pid files and sockets.
    sh("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    for folder in ("/run/netns", SCRATCH):
        os.makedirs(folder, exist_ok=True)
    os.chmod(SCRATCH, 0o755)
    # Before anything else that wants the processor: recordings are hurt by whoever makes them wait.
    # A session of its own, since the kernel shares the processor among sessions first (sched_autogroup).
    with contextlib.suppress(OSError):
        os.setsid()
        with open("/proc/self/autogroup", "w") as group:
            group.write("-20")
    with contextlib.suppress(PermissionError):
        os.nice(-10)
    _short_slices()


def _short_slices():
    """Asks for slices of `SLICE_NS`, for this process and all that it starts; kernels before Linux 6.12 ignore it."""
    SYS_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}.get(os.uname().machine)
    # struct sched_attr: its size, policy (normal), flags, nice, priority, slice, deadline, period
    wanted = struct.pack("<IIQiIQQQ", 48, 0, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, SLICE_NS, 0, 0)
    if SYS_SCHED_SETATTR:
        ctypes.CDLL(None).syscall(SYS_SCHED_SETATTR, 0, wanted, 0)
