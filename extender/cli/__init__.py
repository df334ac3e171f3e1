"""The command line.

Belongs here: flags, what is printed, exit codes.

Does not belong here: anything another program would want to call: that is in the rooms
below.
"""

from extender.cli.main import kubectl_complete_gpu, kubectl_gpu, main

__all__ = ["kubectl_complete_gpu", "kubectl_gpu", "main"]
