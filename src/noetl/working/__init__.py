"""A worker of a cluster at work: its processes, what supervises them, and what each is put together from."""
