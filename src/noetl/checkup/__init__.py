"""`noetl doctor`: what a home, a store, a queue, servers and workers look like from here, and what to do about it.

Each file looks at one thing and gives findings; `examine` asks them all. Nothing is changed, nothing is created, and
no finding shows a password, a token or a payload.
"""
