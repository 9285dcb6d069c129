"""The files of a testbed: names, accounts and ssh, as each host sees them in /etc.

ssh works between all hosts without questions and without the user's own keys and settings: host-init binds
`etc/ssh/ssh_config` over the system's one.  Every host has a host key of its own, so that a wrong address is noticed.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .state import MARKER, TestbedError

SSH_CONFIG = """\
# the only ssh configuration on the hosts of this testbed
Host *
    BatchMode yes
    IdentitiesOnly yes
    IdentityFile {folder}/ssh/key
    UserKnownHostsFile /dev/null
    GlobalKnownHostsFile {folder}/ssh/known_hosts
    StrictHostKeyChecking yes
    ConnectTimeout 10
    ServerAliveInterval 5
    ServerAliveCountMax 3
    LogLevel ERROR
"""

# HOME is an empty folder: the user's shell start-up files would only cost time.
SSHD_CONFIG = """\
AuthorizedKeysFile {folder}/ssh/key.pub
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PidFile none
PrintMotd no
MaxStartups 200
MaxSessions 200
ClientAliveInterval 5
ClientAliveCountMax 3
SetEnv HOME={folder}/home XDG_RUNTIME_DIR=/run/user/{uid} {marker}={folder}
"""


def _make_key(path: Path) -> str:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise TestbedError(f"ssh-keygen cannot make {path}: {done.stderr.strip()}")
    return path.with_suffix(".pub").read_text(encoding="utf-8").strip()


def _aliases(name: str) -> list[str]:
    """Host h1 is also n1, as the conformance suite calls its simulated hosts: its programs run on either."""
    return [name, f"n{name[1:]}"] if name[1:].isdigit() else [name]


def _write_ssh(folder: Path, names: Mapping[str, str]) -> None:
    _make_key(folder / "ssh" / "key")
    keys = {name: _make_key(folder / "ssh" / f"host_key_{name}") for name in names}
    known = [f"{','.join([*_aliases(name), address])} {keys[name]}\n" for name, address in names.items()]
    (folder / "ssh" / "known_hosts").write_text("".join(known), encoding="utf-8")
    values = {"folder": folder, "marker": MARKER, "uid": os.getuid()}
    (folder / "etc" / "ssh" / "ssh_config").write_text(SSH_CONFIG.format(**values), encoding="utf-8")
    (folder / "ssh" / "sshd_config").write_text(SSHD_CONFIG.format(**values), encoding="utf-8")


def write(folder: Path, names: Mapping[str, str]) -> None:
    """Makes the folder's files for hosts of these names and addresses."""
    for part in ("etc/ssh", "ssh", "home", "log"):
        (folder / part).mkdir(mode=0o755, parents=True)
    lines = ["127.0.0.1 localhost\n"] + [f"{address} {' '.join(_aliases(name))}\n" for name, address in names.items()]
    (folder / "etc" / "hosts").write_text("".join(lines), encoding="utf-8")
    (folder / "etc" / "resolv.conf").write_text("# no name server: all names are in /etc/hosts\n", encoding="utf-8")
    # sshd without PAM refuses accounts that are locked with a `!`, as root often is.
    accounts = "".join(f"{account.pw_name}:*:19000:0:99999:7:::\n" for account in pwd.getpwall())
    shadow = folder / "etc" / "shadow"
    shadow.touch(mode=0o600)
    shadow.write_text(accounts, encoding="utf-8")
    _write_ssh(folder, names)
