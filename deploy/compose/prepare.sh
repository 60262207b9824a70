#!/bin/sh
# Makes what a trial of compose.yaml needs and no repository may hold: passwords, tokens, certificates, and a settings
# file for each role. Everything goes to ./state, for you alone. Run it once; it never overwrites.
set -eu
cd "$(dirname "$0")"
umask 077
if [ -e state ]; then
    echo "state/ is there already; remove it to begin anew (the tokens and keys in it are gone then)" >&2
    exit 1
fi
mkdir -p state/secrets state/server state/worker

random() { openssl rand -hex 24; }
token() { printf 'noetl_%s\n' "$(openssl rand 32 | openssl base64 -A | tr '+/' '-_' | tr -d '=')"; }

certificate() { # name: a key and a certificate for that host, signed by our own authority
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
        -keyout "state/secrets/$1.key" -out "state/secrets/$1.csr" 2>/dev/null
    printf 'subjectAltName=DNS:%s,DNS:localhost,IP:127.0.0.1\n' "$1" >"state/secrets/$1.ext"
    openssl x509 -req -days 825 -in "state/secrets/$1.csr" -extfile "state/secrets/$1.ext" \
        -CA state/secrets/ca.pem -CAkey state/secrets/ca.key -CAcreateserial -out "state/secrets/$1.pem" 2>/dev/null
    rm "state/secrets/$1.csr" "state/secrets/$1.ext"
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 825 -subj "/CN=NoETL trial" \
    -keyout state/secrets/ca.key -out state/secrets/ca.pem 2>/dev/null
for name in postgres nats server; do certificate "$name"; done

postgres_password=$(random) server_password=$(random) worker_password=$(random)
printf '%s' "$postgres_password" >state/secrets/postgres_password
printf 'NOETL_SERVER_PASSWORD: "%s"\nNOETL_WORKER_PASSWORD: "%s"\n' "$server_password" "$worker_password" \
    >state/secrets/users.conf

token >state/server/server.token
token >state/server/worker.token
cp state/server/worker.token state/worker/worker.token
cp state/secrets/ca.pem state/secrets/server.pem state/secrets/server.key state/server/
cp state/secrets/ca.pem state/worker/

cat >state/server/noetl.toml <<EOF
[store]
url = "postgresql://noetl:$postgres_password@postgres:5432/noetl?sslmode=verify-full&sslrootcert=/var/lib/noetl/ca.pem"

[queue]
url = "nats://noetl-server:$server_password@nats:4222"
ca_file = "/var/lib/noetl/ca.pem"

[server]
host = "0.0.0.0"
names = ["server", "localhost"]
tls_cert = "/var/lib/noetl/server.pem"
tls_key = "/var/lib/noetl/server.key"
EOF

cat >state/worker/noetl.toml <<EOF
[queue]
url = "nats://noetl-worker:$worker_password@nats:4222"
ca_file = "/var/lib/noetl/ca.pem"
EOF

printf 'NOETL_UID=%s\nNOETL_GID=%s\n' "$(id -u)" "$(id -g)" >.env
echo "made state/ and .env; next: docker compose up --build --detach"
