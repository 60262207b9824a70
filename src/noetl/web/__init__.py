"""HTTP requests to others: the one way out for every room that asks a server something (security 7).

guard.py says which addresses may be reached, client.py sends and follows redirects through it, tls.py says which
certificates are believed and shown, coding.py undoes compression within bounds, messages.py holds what is sent and what
came back, json_body.py reads JSON of strangers.
"""
