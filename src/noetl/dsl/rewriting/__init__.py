"""Changing a text without touching the rest of it.

outline.py    text → parts and slots, each with its characters and the comments beside it (parts.py)
pairing.py    which node was read from which part
rebuild.py    changed nodes → parts again; comments.py takes what was said along, spelling.py spells what is new
layout.py     parts → text, in the usual layout (fmt) or with everything untouched in its place (migrate)
"""
