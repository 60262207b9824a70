"""Programs that go on by themselves: who runs where, how one is started apart from its terminal, and its log file."""
