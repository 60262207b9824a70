"""Credential names to secrets, and their redaction.

contract.py says what a keychain can do; environment.py is one whose entries are NOETL_SECRET_ variables; known.py
remembers what was handed out; redaction.py takes it out of whatever is to be written; secret.py holds a secret in data.
"""
