"""Tables on real servers: nginx with ranges, TLS, HTTP/2 and gzip."""
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from checks import tool
from far import TABLE, folder, lookup, run, same

NGINX = """
daemon off; pid {d}/pid; error_log {d}/error.log; worker_processes 1;
events {{}}
http {{
    access_log {d}/access.log combined; client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f;
    uwsgi_temp_path {d}/u; scgi_temp_path {d}/s; gzip on; gzip_types *; gzip_min_length 1;
    server {{ listen 127.0.0.1:{plain}; root {d}/www; location /down {{ return 302 http://127.0.0.1:{plain}/m.safetensors; }}
              location /up {{ return 302 https://localhost:{tls}/m.safetensors; }} }}
    server {{ listen 127.0.0.1:{tls} ssl http2; ssl_certificate {d}/cert.pem; ssl_certificate_key {d}/key.pem; root {d}/www;
              location /down {{ return 302 http://127.0.0.1:{plain}/m.safetensors; }} }}
}}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def make_authority(d):
    """ca.pem, and a certificate for localhost that it signed."""
    def openssl(*args):
        subprocess.run(["openssl", *args], cwd=d, check=True, capture_output=True)
    Path(d, "ext").write_text("subjectAltName=DNS:localhost\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "req.pem", "-subj", "/CN=localhost")
    openssl("x509", "-req", "-in", "req.pem", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "cert.pem", "-days", "2",
            "-extfile", "ext")


@contextmanager
def nginx():
    """Its folder, its plain address and its TLS address."""
    program, _ = tool("nginx"), tool("openssl")
    with folder() as d:
        Path(d, "www").mkdir()
        Path(d, "www/m.safetensors").write_bytes(TABLE)
        Path(d, "www/dir").mkdir()
        Path(d, "www/dir/model.safetensors").write_bytes(TABLE)
        Path(d, "www/dir/config.json").write_text('{"model_type": "llama", "rope_theta": 10000, "hidden_size": 8, "num_attention_heads": 2}')
        make_authority(d)
        plain, tls = free_port(), free_port()
        Path(d, "conf").write_text(NGINX.format(d=d, plain=plain, tls=tls))
        subprocess.run(["chmod", "-R", "a+rX", d], check=True)
        server = subprocess.Popen([shutil.which(program), "-c", f"{d}/conf", "-e", f"{d}/error.log"], stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", tls), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield d, f"http://127.0.0.1:{plain}", f"https://localhost:{tls}"
        finally:
            server.terminate()
            server.wait()


def plain():
    """Ranges, although the server packs what it sends whole."""
    with nginx() as (d, url, _):
        same(lookup(f"{url}/m.safetensors"))
        log = Path(d, "access.log").read_text()
        assert log.count(" 206 ") >= 2 and " 200 " not in log, log


def tls():
    """A certificate of an unknown authority is refused; with the authority's own the rows come, over HTTP/2."""
    with nginx() as (d, _, url):
        r = lookup(f"{url}/m.safetensors")
        assert r.returncode == 4 and b"certificate" in r.stderr, r
        for name in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            same(lookup(f"{url}/m.safetensors", env={name: f"{d}/ca.pem"}))
        assert "HTTP/2.0" in Path(d, "access.log").read_text()
        r = lookup(f"{url.replace('localhost', '127.0.0.1')}/m.safetensors", env={"CURL_CA_BUNDLE": f"{d}/ca.pem"})
        assert r.returncode == 4, r


def from_secret_to_open():
    """A redirect from http to https is followed, one from https to http is not."""
    with nginx() as (d, plain_url, url):
        env = {"CURL_CA_BUNDLE": f"{d}/ca.pem"}
        same(lookup(f"{plain_url}/up", env=env))
        r = lookup(f"{url}/down", env=env)
        assert r.returncode == 4 and r.stdout == b"", r
        same(lookup(f"{plain_url}/down", env=env))


def authority_of_every_command():
    """--cacert is taken by every command that reads a model from a server."""
    with nginx() as (d, _, url):
        for command in (("ls",), ("stats",), ("plan",), ("check",), ("position", "rope", "-L", "2", "-o", f"{d}/www/out.npy", "-t")):
            good = run(*command, f"{url}/dir/", "--cacert", f"{d}/ca.pem")
            assert good.returncode < 2, (command, good)
            bad = run(*command, f"{url}/dir/")
            assert bad.returncode == 4 and b"certificate" in bad.stderr, (command, bad)


CHECKS = [authority_of_every_command, plain, tls, from_secret_to_open]
