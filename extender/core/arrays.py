"""Array types. Axes are (dimension, device, node); the node axis is innermost.

Reductions over devices then run along contiguous nodes, several times faster than
with the device axis innermost.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Codes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

SLOTS: Final = 0
MEMORY: Final = 1
CORES: Final = 2
DIMENSIONS: Final = 3
