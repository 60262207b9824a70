"""The one way to a NATS server: whom a credential names, how to log in there, and a connection (security 20)."""
