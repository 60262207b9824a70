"""The one database of a simulated cluster: tables in memory, real transactions and locks, and failovers."""
