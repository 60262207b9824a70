"""What each setting means, in words from which its page is made; nothing that runs imports this.

The words are Markdown as on a page of docs/, links included: docs/reference/settings.md is made of them and of what
`noetl.config` reads. A setting without its words here has no page, and a test says so.
"""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """Of one key of noetl.toml."""

    words: str
    flag: str = ""  # of the command line, if it has one
    default: str = ""  # in words, where it is no value that can be written down


MEANINGS: dict[str, Meaning] = {
    "home": Meaning(
        "where data lives: the store, large results, keys",
        flag="--home DIR",
        default="the nearest `.noetl/` upward, else `noetl` in your data directory",
    ),
    "store.url": Meaning(
        "the store: `sqlite:///relative/file.db`, `sqlite:////absolute/file.db`, or "
        "`postgresql://user@host/database` for a [cluster](cluster.md)",
        flag="--store URL",
        default="`noetl.db` in the home",
    ),
    "http.allow": Meaning(
        "hosts and networks that `http` tasks may reach besides public addresses and this machine itself, such as "
        "`db.local` or `10.0.0.0/8`"
    ),
    "http.loopback": Meaning(
        "whether http tasks may reach the worker's own machine", default="true with `noetl run`, false in a cluster"
    ),
    "script.roots": Meaning("folders that scripts may come from, besides the playbook's own"),
    "slots": Meaning("tasks at once of kinds that only wait (http, postgres, …)"),
    "process_slots": Meaning(
        "tasks at once that run in a process of their own (python, shell, script, duckdb)",
        default="the number of cores",
    ),
    "python.memory_mb": Meaning("memory that one python task may use"),
    "python.inline": Meaning(
        "python tasks may ask for `spec.isolation: inline` and run inside the worker, with no boundary; for "
        "authors who are trusted as the worker is"
    ),
    "duckdb.external_access": Meaning(
        "duckdb tasks may ask for `spec.allow_external_access: true`, with which their SQL reads and writes files "
        "and networks as the worker can; for authors who are trusted as the worker is"
    ),
    "results.mb_max": Meaning(
        "MiB of a result that is held as data: what a task gives, and what is read at once; what is streamed into "
        "a store may be larger"
    ),
    "results.stores": Meaning(
        "where large results may be kept: `files`, `sqlite`, or URLs; the first is the one that is used unless a "
        "playbook chooses another ([results](results.md))",
        default="`files`; in a cluster, NATS at `queue.url`",
    ),
    "results.keep_days": Meaning(
        "how long stored results are kept after their execution has ended, where a reference has no `ttl` "
        "([retention](results.md#retention))",
        flag="--keep-days of noetl sweep",
        default="for ever",
    ),
    "keychain.env_allow": Meaning(
        "variables that [provider](keychain.md#providers) `env` may read, such as `DB_*`; never those that begin "
        "with `NOETL_`"
    ),
    "keychain.file_roots": Meaning("folders that provider `file` may read from"),
    "keychain.secrets_allow": Meaning(
        "which secrets playbooks may ask providers for: patterns of `provider:name`, such as `vault:secret/teams/etl/*`"
    ),
    "keychain.pools_allow": Meaning(
        "which credentials workers of a cluster may be given: patterns of `pool:name`, such as `gpu:models_*`"
    ),
    "keychain.ca_file": Meaning("certificates that the services of providers are checked with", default="the system's"),
    "keychain.vault_url": Meaning("where provider `vault` asks; the token is in `NOETL_VAULT_TOKEN` or the file below"),
    "keychain.vault_token_file": Meaning(
        "file with the token for provider `vault`; read again when the token is refused"
    ),
    "keychain.aws_region": Meaning("region of provider `aws`", default="`AWS_REGION`"),
    "keychain.aws_url": Meaning("another endpoint for provider `aws`", default="that of the region"),
    "keychain.gcp_url": Meaning("another endpoint for provider `gcp`", default="Google's"),
    "keychain.azure_url": Meaning("the vault of provider `azure`, such as `https://team.vault.azure.net`"),
    "keychain.key": Meaning(
        "where the keys of the [keychain](keychain.md) are: `file` (`keychain.keys` in the home; `cluster.keys` "
        "for credentials in PostgreSQL) or `keyring` (the system's password store); `NOETL_MASTER_KEY` wins over "
        "both"
    ),
    "tools.plugins": Meaning("kinds of other packages that playbooks may use, by name ([plugins](plugins.md))"),
    "queue.url": Meaning(
        "the [NATS server](nats.md) of a cluster: `nats://host:4222` or `tls://host:4222`, with `user:password@` "
        "before the host where it asks for them",
        flag="--queue URL",
        default="none: workers are in the server's process",
    ),
    "queue.prefix": Meaning("what every subject begins with: clusters that share one NATS have one each"),
    "queue.ca_file": Meaning("certificates that the NATS server is checked with, PEM", default="the system's"),
    "server.host": Meaning(
        "the address a server listens on; one that others can reach needs TLS", flag="--host of noetl server start"
    ),
    "server.port": Meaning("the port; 0 is a free one", flag="--port"),
    "server.names": Meaning(
        "names that clients call the server by, besides its address and this machine's own names; others are refused"
    ),
    "server.tls_cert": Meaning("the server's certificate in PEM, with those it was signed by", flag="--tls-cert FILE"),
    "server.tls_key": Meaning("its key in PEM", flag="--tls-key FILE"),
    "server.insecure": Meaning(
        "listen beyond this machine without TLS; only where something before the server brings it", flag="--insecure"
    ),
    "server.workers": Meaning("a server without a queue runs tasks in its own process", flag="--no-workers"),
    "server.url": Meaning(
        "the server that the commands ask, instead of opening a store themselves", flag="--server URL"
    ),
    "server.token_file": Meaning(
        "the file with the token that the commands, or a worker, show",
        flag="--token-file FILE",
        default="`server.token`, of workers `worker.token`, in the home",
    ),
    "server.ca_file": Meaning("certificates that the commands check a server with", default="the system's"),
    "pool": Meaning("the pool whose jobs a worker takes", flag="--pool NAME"),
    "worker.processes": Meaning(
        "processes of one `noetl worker start`", flag="--processes N", default="0: one for each core"
    ),
    "lease_seconds": Meaning(
        "after how long a job goes to another worker if its own is silent; the same on all servers and workers"
    ),
    "otel.url": Meaning(
        "the OpenTelemetry collector that a server sends [traces](observability.md#traces) to, such as "
        "`http://localhost:4318`; needs the extra `otel`"
    ),
    "log.format": Meaning(
        "of what servers and workers write to standard error: `text` for people, `json` for programs "
        "([logs](observability.md#logs))"
    ),
    "export.events": Meaning("every committed event goes to a [stream of NATS](nats.md#export-of-events), too"),
    "log.level": Meaning("from how bad on: `debug`, `info`, `warning`, `error`"),
}
