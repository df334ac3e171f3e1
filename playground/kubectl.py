"""kubectl, which applies the files of the example as a user would."""

import asyncio
from pathlib import Path


class KubectlError(Exception):
    """kubectl refused; the message is its own."""


class Kubectl:
    """The kubectl that fits the control plane, as an administrator."""

    def __init__(self, program: Path, kubeconfig: Path, cache: Path) -> None:
        self._command = [
            str(program),
            f"--kubeconfig={kubeconfig}",
            f"--cache-dir={cache}",
        ]

    async def apply(self, folder: Path) -> None:
        """Apply every file of a folder, in the order of names.

        Raises:
            KubectlError: Something is refused.
        """
        running = await asyncio.create_subprocess_exec(
            *self._command,
            *("apply", "-f", str(folder)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            # Ctrl-C is for whoever started it, who ends it below.
            start_new_session=True,
        )
        try:
            _, said = await running.communicate()
        finally:
            if running.returncode is None:
                running.kill()
                await running.wait()
        if running.returncode:
            raise KubectlError(f"kubectl apply -f {folder}: {said.decode().strip()}")
