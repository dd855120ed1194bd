"""caged.py UNIT-FILE COMMAND... - run a command with the system calls that SystemCallFilter= of a unit leaves it

What the service manager would do with that key, by libseccomp and systemd-analyze; all else of the unit is left out.
"""
import ctypes
import errno
import os
import subprocess
import sys

ALLOW, DENY = 0x7fff0000, 0x00050000 | errno.EPERM


def members(name, seen):
    """The calls of a set such as @system-service, sets within it opened."""
    if not name.startswith("@"):
        return {name}
    if name in seen:
        return set()
    seen.add(name)
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True,
                          check=True).stdout
    calls = set()
    for line in text.splitlines():
        if line.startswith("    ") and not line.strip().startswith("#"):
            calls |= members(line.strip(), seen)
    return calls


def allowed(unit):
    calls = members("@default", set())
    with open(unit) as f:
        for line in f:
            if line.startswith("SystemCallFilter="):
                value = line.split("=", 1)[1].strip()
                named = set().union(*(members(word, set()) for word in value.lstrip("~").split()))
                calls = calls - named if value.startswith("~") else calls | named
            if line.startswith("SystemCallErrorNumber="):
                assert line.strip().endswith("=EPERM"), line
    return calls


def main():
    calls = allowed(sys.argv[1])
    lib = ctypes.CDLL("libseccomp.so.2")
    lib.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(lib.seccomp_init(DENY))
    known = 0
    for call in calls:
        number = lib.seccomp_syscall_resolve_name(call.encode())
        if number >= 0:  # this architecture has it
            known += lib.seccomp_rule_add(context, ALLOW, number, 0) == 0
    assert known > 100, known
    assert lib.seccomp_load(context) == 0  # sets no_new_privs, too
    os.execvp(sys.argv[2], sys.argv[2:])


if __name__ == "__main__":
    main()
