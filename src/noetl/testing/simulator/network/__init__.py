"""The message server of a simulated world, and the ways through its network."""
