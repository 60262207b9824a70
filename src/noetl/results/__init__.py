"""Large outputs kept outside the log and reached by reference: one contract, one file per implementation."""
