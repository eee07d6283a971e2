"""Samba over files in memory (`Storage`), and sessions that use them."""

import os
import subprocess

from kit.apps import database
from kit.apps.storage import Storage


class Samba:
    """Whoever logs in is a guest. What is told is of `Storage`."""

    def __init__(self, bench, **storage):
        below = Storage(bench, **storage)
        self.log = below.log
        own = f"{bench.scratch}/samba"
        os.makedirs(f"{own}/log", exist_ok=True)
        config = f"{own}/smb.conf"
        folders = ["private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"]
        with open(config, "w") as file:
            file.write(f"""[global]
  smb ports = 445
  disable netbios = yes
  disable spoolss = yes
  load printers = no
  server role = standalone
  map to guest = bad user
  guest account = root
  kernel oplocks = no
  log file = {own}/log/%m
  {"".join(f"{folder} = {own}" + chr(10) for folder in folders)}
[export]
  path = {below.folder}
  guest ok = yes
  read only = no
""")
        command = bench.server.command("sh", "-c", f"{below.environment} exec smbd -F --no-process-group -s {config}")
        self.process = bench.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        bench.until(lambda: bench.server.listens(445), self.process, "Samba")
        bench.truth["server"] = {"software": "samba"}


def load(bench, sessions):
    """Runs sessions (`src/smbload.py`) to their end and returns their operations (`database.sessions`)."""
    return database.sessions(bench, "smbload.py", sessions, server=bench.server.address)
