"""Who asks, and what that allows.

roles     the roles in their order, and the identity of whoever shows an access token
tokens    access tokens: made, known by their hash, revoked; first_tokens and token_files: those of a home
sessions  what a worker gets for its token, and shows with every message; roster: the workers that were seen
audit     one line of the log for each change of any of them
"""
