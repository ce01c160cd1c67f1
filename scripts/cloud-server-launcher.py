"""Runs the app-server as it was released, but for what keeps it from running
sandboxes as processes of one machine. Argument: its port."""

import os
import sys

import openhands.app_server.utils.environment as environment

environment.is_running_in_docker = lambda: False  # sandboxes are on this host, even where /.dockerenv exists

from openhands.app_server.config import get_global_config  # noqa: E402
from openhands.app_server.sandbox.process_sandbox_service import ProcessSandboxService, ProcessSandboxServiceInjector  # noqa: E402
from openhands.app_server.sandbox.process_sandbox_spec_service import (  # noqa: E402
    ProcessSandboxSpecServiceInjector,
    get_default_sandbox_specs,
)
from openhands.app_server.sandbox.sandbox_models import SandboxStatus  # noqa: E402

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


def status(self, info):
    """A process that waits for requests counts as started."""
    found = status_of_process(self, info)
    return SandboxStatus.RUNNING if found == SandboxStatus.STARTING else found


ProcessSandboxService._get_process_status = status
ProcessSandboxService._wait_for_server_ready = lambda self, at, timeout=0: wait_until_ready(self, at, START_SECONDS)

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
