"""What a server keeps: one contract, one file per implementation, `sql/` with the migrations of those that need any."""
