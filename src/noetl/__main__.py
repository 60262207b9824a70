"""`python -m noetl` is `noetl`."""

import sys

from noetl.cli import main

sys.exit(main())
