"""Full assertion messages for the suites, which live in the package."""

import pytest

pytest.register_assert_rewrite(
    "noetl.testing.listing_suite",
    "noetl.testing.records_suite",
    "noetl.testing.store_suite",
    "noetl.testing.results_suite",
    "noetl.testing.queue_suite",
    "noetl.testing.keychain_suite",
    "noetl.testing.transport_suite",
)
