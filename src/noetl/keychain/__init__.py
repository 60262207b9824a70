"""Credential names to secrets, and their redaction.

contract.py says what a keychain can do, chain.py is the one that server and worker use: it asks sources.py in order:
environment.py (NOETL_SECRET_ variables), the encrypted store, providers/ (what others keep). kinds.py says which fields
a kind has, oauth2.py gets tokens, kept.py keeps what is dear to fetch, endpoint.py asks services. known.py remembers
what was handed out; redaction.py takes it out of whatever is to be written, which search.py looks through, and
stream_redaction.py of what comes in pieces. opening.py puts it together.

The encrypted store: sealing.py is one key and what it seals, ring.py all keys (kept in key_file.py, key_variable.py or
key_service.py), strongbox.py what keeps sealed rows (strongbox_sqlite.py, strongbox_memory.py), stored.py the
credentials over both, field_references.py where a document says its values are, stored_source.py the store as a source,
local.py the store of one home.
"""
