"""Runs the app-server as it was released, but for what keeps it from running
sandboxes as processes of one machine. Argument: its port."""

import asyncio
import os
import sys

import psutil

import openhands.app_server.utils.environment as environment

environment.is_running_in_docker = lambda: False  # sandboxes are on this host, even where /.dockerenv exists

from openhands.app_server.config import get_global_config  # noqa: E402
from openhands.app_server.sandbox.process_sandbox_service import _processes as processes  # noqa: E402
from openhands.app_server.sandbox.process_sandbox_service import (  # noqa: E402
    ProcessSandboxService,
    ProcessSandboxServiceInjector,
    utc_now,
)
from openhands.app_server.sandbox.process_sandbox_spec_service import (  # noqa: E402
    ProcessSandboxSpecServiceInjector,
    get_default_sandbox_specs,
)
from openhands.app_server.sandbox.sandbox_models import SandboxStatus  # noqa: E402

LOOKS = 4
START_SECONDS = 120  # the server's own limit of 30 is too short on a busy machine

port, here = int(sys.argv[1]), os.getcwd()
specs = [spec.model_copy(update={'working_dir': '/workspace/project'}) for spec in get_default_sandbox_specs()]
config = get_global_config()
config.sandbox = ProcessSandboxServiceInjector(
    base_working_dir=here + '/sandboxes', base_port=port + 1, python_executable=here + '/sandbox'
)
config.sandbox_spec = ProcessSandboxSpecServiceInjector(specs=specs)

status_of_process = ProcessSandboxService._get_process_status
wait_until_ready = ProcessSandboxService._wait_for_server_ready
look_at_process = ProcessSandboxService._process_to_sandbox_info
resume = ProcessSandboxService.resume_sandbox
restarting = asyncio.Lock()


def ended(info):
    try:
        return psutil.Process(info.pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def status(self, info):
    """A process that waits for requests counts as started. One that was killed sleeps, as a container of the
    server's own Docker sandboxes does: its files are there."""
    if ended(info):
        return SandboxStatus.PAUSED
    found = status_of_process(self, info)
    return SandboxStatus.RUNNING if found == SandboxStatus.STARTING else found


async def look(self, sandbox_id, info):
    """A live process that does not answer within the server's own limit of 5 seconds is asked again. One that was
    started just now is starting, as a container is."""
    found = await look_at_process(self, sandbox_id, info)
    if found.status == SandboxStatus.ERROR and (utc_now() - info.created_at).total_seconds() < START_SECONDS:
        found.status = SandboxStatus.STARTING
    for _ in range(LOOKS):
        if found.status != SandboxStatus.ERROR:
            break
        await asyncio.sleep(0.5)
        found = await look_at_process(self, sandbox_id, info)
    return found


async def resume_or_restart(self, sandbox_id):
    """A process that was killed starts again with its files, at another port, as a container of Docker would."""
    async with restarting:
        info = processes.get(sandbox_id)
        if info is None or not ended(info):
            return await resume(self, sandbox_id)
        spec = await self.sandbox_spec_service.get_sandbox_spec(info.sandbox_spec_id)
        port = self._find_unused_port()
        process = await self._start_agent_process(sandbox_id, port, info.working_dir, info.session_api_key, spec)
        changed = {'pid': process.pid, 'port': port, 'created_at': utc_now()}
        processes[sandbox_id] = info.model_copy(update=changed)
        return True


ProcessSandboxService._process_to_sandbox_info = look
ProcessSandboxService._get_process_status = status
ProcessSandboxService._wait_for_server_ready = lambda self, at, timeout=0: wait_until_ready(self, at, START_SECONDS)
ProcessSandboxService.resume_sandbox = resume_or_restart

from openhands.app_server.app import app  # noqa: E402

KEY_HEADER = b'x-session-api-key'


async def hosted(scope, receive, send):
    """The app-server with the headers of the hosted service."""
    if scope['type'] == 'http':
        headers = dict(scope['headers'])
        given = headers.get(b'authorization', b'').removeprefix(b'Bearer ') or headers.get(b'x-access-token')
        if given and KEY_HEADER not in headers:
            scope['headers'] = [*scope['headers'], (KEY_HEADER, given)]
    await app(scope, receive, send)


import uvicorn  # noqa: E402

uvicorn.run(hosted if os.environ.get('CLOUD_HOSTED') else app, host='127.0.0.1', port=port)
