"""One torch thread: the tests run many tiny operations, and threads that spin slow each other down."""

import torch

torch.set_num_threads(1)
