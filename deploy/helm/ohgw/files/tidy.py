#!/usr/bin/env python3
"""Removes the workspaces of conversations that an agent-server no longer has.

ohgw gives a conversation a workspace of its own, and removes the conversation when
nothing needs it any more. The agent-server then keeps the workspace, on a volume that
ohgw does not reach. This program runs beside the agent-server.

A workspace stays while any conversation works in it, and for AGE seconds after its last
change. If the conversations cannot be read, nothing is removed.

WORKSPACES     where ohgw makes them (/workspace/ohgw/workspaces)
CONVERSATIONS  OH_CONVERSATIONS_PATH of the agent-server (/workspace/conversations)
AGE            seconds (3600)
EVERY          seconds between two looks; 0: one look (0)
"""

import json
import os
import shutil
import sys
import time
import uuid
from pathlib import Path


def is_id(name):
    """Whether a name is one that ohgw gives to a workspace: nothing else is removed."""
    try:
        return str(uuid.UUID(name)) == name
    except ValueError:
        return False


class UnreadableError(Exception):
    """A record is not one of a conversation, or is being written."""


def used(conversations, workspaces):
    """The directories that conversations work in, and those around them."""
    found = set()
    for entry in os.scandir(conversations):
        if not entry.is_dir():
            continue
        try:  # also of one that is being made, and has no record yet
            found.add(workspaces / str(uuid.UUID(entry.name)))
        except ValueError:
            pass
        record = Path(entry.path, "meta.json")
        try:
            name = json.loads(record.read_text())["workspace"]["working_dir"]
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError) as e:
            raise UnreadableError(f"{record} is no record of a conversation; if it stays so, delete the conversation ({type(e).__name__}: {e})") from e
        for path in Path(os.path.normpath(name)), Path(os.path.realpath(name)):
            found.update([path, *path.parents])
    return found


def stale(workspaces, age):
    """The workspaces that nobody has changed for a time."""
    for entry in os.scandir(workspaces):
        if is_id(entry.name) and entry.is_dir(follow_symlinks=False):
            at = entry.stat(follow_symlinks=False)
            if time.time() - max(at.st_mtime, at.st_ctime) > age:
                yield Path(entry.path)


def tidy(conversations, workspaces, age):
    """Removes what is not used, and returns how many workspaces that were."""
    if not workspaces.is_dir():
        return 0
    workspaces = workspaces.resolve()  # a conversation may name it by a link
    old = list(stale(workspaces, age))  # first: what is used later is newer
    kept = used(conversations, workspaces) if old else set()
    removed = 0
    for path in old:
        if path not in kept:
            shutil.rmtree(path, ignore_errors=True)
            if path.exists():
                print(f"cannot remove all of {path}: check its owner and its permissions", file=sys.stderr, flush=True)
            else:
                removed += 1
    return removed


def main():
    workspaces = Path(os.environ.get("WORKSPACES", "/workspace/ohgw/workspaces"))
    conversations = Path(os.environ.get("CONVERSATIONS", "/workspace/conversations"))
    age, every = float(os.environ.get("AGE", "3600")), float(os.environ.get("EVERY", "0"))
    while True:
        failed = False
        try:
            if n := tidy(conversations, workspaces, age):
                print(f"workspaces removed: {n}", flush=True)
        except OSError as e:
            failed = True
            print(f"removed nothing: {e}; check WORKSPACES and CONVERSATIONS", file=sys.stderr, flush=True)
        except UnreadableError as e:
            failed = True
            print(f"removed nothing: {e}", file=sys.stderr, flush=True)
        if every <= 0:
            return failed
        time.sleep(every)


if __name__ == "__main__":
    sys.exit(main())
