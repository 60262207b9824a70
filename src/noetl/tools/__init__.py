"""What a task can do: one file per kind, each opening with its declaration (`KIND`)."""
