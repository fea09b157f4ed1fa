"""The configuration of the reverse proxy: nginx, because every engineer can read it and the distribution mends it.

Flower serves everything on one port: what nodes need (`/v1/fleet/`), and what starts runs, that is, code on every node
(`/v1/control/`, `/v1/runtime/`), without asking who is there. SuperLink therefore listens on loopback only, and ten
paths come through from outside, named one by one.
"""

from string import Template

from evenkeel.federation.deploy.layout import Server

PATHS = (
    "activate-node",
    "deactivate-node",
    "send-node-heartbeat",
    "pull-messages",
    "push-messages",
    "get-run",
    "get-fab",
    "push-object",
    "pull-object",
    "confirm-message-received",
)
HEADERS = ("flwr-public-key", "flwr-timestamp", "flwr-signature")  # each sent on once: a second one is dropped here
LARGEST = 32  # MiB of a request; Flower sends arrays in pieces of 5

_CONF = Template("""\
# Written by `evenkeel federate init`. Check it with: nginx -t -p $logs -c $here
# SuperLink listens on 127.0.0.1:$inner; sites see port $port, and of it only the paths below.
daemon off;
worker_processes auto;
pid "$logs/proxy.pid";
error_log "$logs/proxy-error.log" warn;
events { worker_connections 1024; }
http {
    # No headers and no bodies: a log holds nothing that lets anybody in.
    log_format said '$$time_iso8601 $$remote_addr $$status $$request_method $$uri $$request_length $$bytes_sent';
    access_log "$logs/proxy.log" said;
    client_body_temp_path "$logs/tmp-body";
    proxy_temp_path "$logs/tmp-proxy";
    fastcgi_temp_path "$logs/tmp-fastcgi";
    uwsgi_temp_path "$logs/tmp-uwsgi";
    scgi_temp_path "$logs/tmp-scgi";
    server_tokens off;
    limit_conn_zone $$binary_remote_addr zone=site:1m;
    upstream superlink { server 127.0.0.1:$inner; keepalive 16; }
    server {
        listen $listen ssl;
        ssl_certificate "$folder/server.pem";
        ssl_certificate_key "$folder/server.key";
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_tickets off;
        limit_conn site 64;
        client_max_body_size ${largest}m;
        client_header_timeout 15s;
        client_body_timeout 60s;
        location / { return 404; }
        location ~ ^/v1/fleet/($paths)$$ {
            limit_except POST { deny all; }
            proxy_pass https://superlink/v1/fleet/$$1;
            proxy_ssl_trusted_certificate "$folder/ca.pem";
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
            proxy_http_version 1.1;
            proxy_request_buffering off;  # straight through: nothing of a body or an answer is written to disk
            proxy_max_temp_file_size 0;
            proxy_next_upstream off;
            proxy_read_timeout 120s;
            proxy_set_header Connection "";
            proxy_set_header Host localhost;
            proxy_set_header X-Real-IP $$remote_addr;
            proxy_set_header evenkeel-control "";
$headers        }
    }
}
""")


def configuration(server: Server) -> str:
    """The text of `proxy.conf`; a rehearsal's listens on loopback only."""
    variables = {name: "$http_" + name.replace("-", "_") for name in HEADERS}
    return _CONF.substitute(
        folder=server.folder,
        here=server.file("proxy.conf"),
        logs=server.logs,
        inner=server.inner,
        port=server.port,
        listen=f"127.0.0.1:{server.port}" if server.loopback else str(server.port),
        largest=LARGEST,
        paths="|".join(PATHS),
        headers="".join(f"            proxy_set_header {name} {held};\n" for name, held in variables.items()),
    )
