"""For every test: citations of the specification are checked, the examples of laws counted, tests shared out among
processes; and Hypothesis has no deadline: machines are noisy.
"""

import os

from hypothesis import settings

pytest_plugins = ["tests.spec.citations", "tests.properties.counting", "tests.shares"]

settings.register_profile("noetl", deadline=None, print_blob=True)
if not os.environ.get("CI"):  # there Hypothesis takes a profile of its own: the same examples every time
    settings.load_profile("noetl")
