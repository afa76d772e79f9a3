"""s3://bucket/key: where it is asked for, how it is signed, and what comes of keys that are wrong.

One server here checks every signature by itself (sigv4.py); moto, from PyPI, is another one's idea of S3."""
import contextlib
import socket
import subprocess
import threading
import time
import venv
from pathlib import Path

import far
import sigv4
from checks import Skip
from far import TABLE, WANTED, folder, lookup, run, same
from server import Server, files, reply

KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "token/with+signs=="
ROOT = Path(__file__).resolve().parents[2]


def env(url, **more):
    clean = {"HOME": "/nowhere", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": url,
             **{x: "" for x in ("AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3")}}
    return {**clean, **more}


def error(status, code, headers=()):
    return reply(status, f"<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>no</Message></Error>".encode(), headers)


def bucket(request, region="us-east-1", token=None):
    """An answer of S3, for any bucket and key."""
    why = sigv4.fault(request, {KEY: SECRET}, region, token)
    if why == "AuthorizationHeaderMalformed":
        return error(400, why, {"x-amz-bucket-region": region})
    return error(403, why) if why else files(request, TABLE)


def published_examples():
    """The checker of this suite computes what Amazon's examples say."""
    sigv4.check_examples()


def signed_ranges():
    """Every request is signed, ranges and the check of what is kept as well; keys of every spelling have the right address."""
    for key, path in (("m.safetensors", "m.safetensors"), ("a b/c+d=é.safetensors", "a%20b/c%2Bd%3D%C3%A9.safetensors"),
                      ("~a/%20/./../x&y?z", "~a/%2520/./../x%26y%3Fz"), ("/two//slashes/", "/two//slashes/"), ("(it's)*!", "%28it%27s%29%2A%21")):
        with folder() as d, Server(bucket) as s:
            url = f"s3://my.bucket-1/{key}"
            same(lookup(url, WANTED, env(s.url)))
            assert len(s.log) > 1 and {q.path for q in s.log} == {f"/my.bucket-1/{path}"}, s.log[0]
            assert all(q.range for q in s.log)
            same(lookup(url, WANTED, env(s.url), "--cache", d))
            before = len(s.log)
            same(lookup(url, WANTED, env(s.url), "--cache", d))
            assert len(s.log) == before
            for p in Path(d).iterdir():
                data = bytearray(p.read_bytes())
                data[4088:4096] = bytes(8)                      # checked in 1970
                p.write_bytes(data)
            same(lookup(url, WANTED, env(s.url), "--cache", d))
            assert "if-none-match" in s.log[before].headers["authorization"]


def session_tokens():
    """A session token is sent, and signed."""
    with Server(lambda q: bucket(q, token=TOKEN)) as s:
        same(lookup("s3://b/k", env=env(s.url, AWS_SESSION_TOKEN=TOKEN)))
        assert "x-amz-security-token" in s.log[0].headers["authorization"]
        before = len(s.log)
        r = lookup("s3://b/k", env=env(s.url))
        assert r.returncode == 4 and b"HTTP 403 Forbidden: InvalidToken" in r.stderr and len(s.log) == before + 1, r


def regions():
    """The region is AWS_REGION, AWS_DEFAULT_REGION or us-east-1; where the bucket is elsewhere that one is asked."""
    for more in ({"AWS_REGION": "eu-west-3"}, {"AWS_DEFAULT_REGION": "eu-west-3"}, {"AWS_REGION": "eu-west-3", "AWS_DEFAULT_REGION": "x"}):
        with Server(lambda q: bucket(q, "eu-west-3")) as s:
            same(lookup("s3://b/k", env=env(s.url, **more)))
            assert "/eu-west-3/" in s.log[0].headers["authorization"]
    for refusal in (lambda q: bucket(q, "ap-south-1"),
                    lambda q: bucket(q, "ap-south-1") if "ap-south-1" in q.headers["authorization"]
                    else error(301, "PermanentRedirect", {"x-amz-bucket-region": "ap-south-1"})):
        with Server(refusal) as s:
            same(lookup("s3://b/k", env=env(s.url)))
            assert ["/us-east-1/" in q.headers["authorization"] for q in s.log][:2] == [True, False], s.log
    with Server(lambda q: error(301, "PermanentRedirect", {"x-amz-bucket-region": "evil.example/"})) as s:
        r = lookup("s3://b/k", env=env(s.url))
        assert r.returncode == 4 and b"HTTP 301: PermanentRedirect" in r.stderr and len(s.log) == 1, r


def wrong_keys():
    """What S3 names as the fault is said, once; no key is."""
    for more, code in (({"AWS_SECRET_ACCESS_KEY": SECRET[:-1]}, b"SignatureDoesNotMatch"), ({"AWS_ACCESS_KEY_ID": "AKIDOTHER"}, b"InvalidAccessKeyId")):
        with Server(bucket) as s:
            r = lookup("s3://b/k", WANTED, env(s.url, **more), "-v")
            assert r.returncode == 4 and b"HTTP 403 Forbidden: " + code in r.stderr and len(s.log) == 1, r
            assert not any(x.encode() in r.stderr + r.stdout for x in (SECRET[:-1], KEY, "Signature=")), r
    with Server(lambda q: error(404, "NoSuchKey")) as s:
        r = lookup("s3://b/k", env=env(s.url))
        assert r.returncode == 4 and b"HTTP 404 Not Found: NoSuchKey" in r.stderr, r
    for more in ({"AWS_SECRET_ACCESS_KEY": ""}, {"AWS_ACCESS_KEY_ID": ""}):
        r = lookup("s3://b/k", env=env("http://127.0.0.1:1", **more))
        assert r.returncode == 2 and b"two keys" in r.stderr, r


def public_buckets():
    """Without keys nothing is signed; a refusal says so."""
    nobody = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    with Server(lambda q: files(q, TABLE)) as s:
        same(lookup("s3://b/k", env=env(s.url, **nobody)))
        assert not any("authorization" in q.headers or any(h.startswith("x-amz") for h in q.headers) for q in s.log)
    with Server(lambda q: error(403, "AccessDenied")) as s:
        r = lookup("s3://b/k", env=env(s.url, **nobody))
        assert r.returncode == 4 and b"without keys" in r.stderr and b"AccessDenied" in r.stderr, r


def keys_stay_here():
    """No redirect takes a signed request elsewhere; a session token goes over http to this machine alone; nothing is kept of keys."""
    with Server(lambda q: files(q, TABLE)) as other, folder() as d:
        with Server(lambda q: error(307, "TemporaryRedirect", {"Location": f"{other.url}/x"})) as s:
            r = lookup("s3://b/k", env=env(s.url, AWS_SESSION_TOKEN=TOKEN))
            assert r.returncode == 4 and b"HTTP 307" in r.stderr and len(s.log) == 1 and not other.log, (r, other.log)
        r = lookup("s3://b/k", env=env("http://example.invalid", AWS_SESSION_TOKEN=TOKEN))
        assert r.returncode == 3 and b"session token" in r.stderr and TOKEN.encode() not in r.stderr, r
        with Server(bucket) as s:
            same(lookup("s3://b/k", WANTED, env(s.url), "--cache", d))
            kept = b"".join(p.read_bytes() for p in Path(d).iterdir())
            assert not any(x.encode() in kept for x in (KEY, SECRET, "Signature"))
        with Server(bucket) as s, Server(lambda q: reply(502, b"")) as proxy:           # which would see the token
            same(lookup("s3://b/k", env=env(s.url, http_proxy=proxy.url)))
            assert not proxy.log


def names():
    """What is no bucket and key is a usage error; endpoints and regions must be such; writing is refused."""
    for url in ("s3://", "s3://b", "s3://b/", "s3:///k", "s3://b@d/k", "s3://b:1/k"):
        r = lookup(url, env=env("http://127.0.0.1:1"))
        assert r.returncode == 2 and b"s3://bucket/key" in r.stderr, (url, r)
    for more in ({"AWS_ENDPOINT_URL": "ftp://h"}, {"AWS_REGION": "x.evil/"}, {"AWS_ENDPOINT_URL_S3": "h:1"}):
        r = lookup("s3://b/k", env=env("http://127.0.0.1:1", **more))
        assert r.returncode == 2, (more, r)
    with Server(bucket) as s:
        same(lookup("S3://b/k", env=env("http://127.0.0.1:1", AWS_ENDPOINT_URL_S3=s.url + "/")))
        r = run("convert", "s3://b/k", "s3://b/out.npy", env=env(s.url))
        assert r.returncode != 0 and all(q.method == "GET" for q in s.log), r
    r = lookup("s3://no-such-bucket/k", env=env("", AWS_ENDPOINT_URL="", http_proxy="http://127.0.0.1:1", https_proxy="http://127.0.0.1:1"))
    assert r.returncode == 4, r


def hosts_of_regions():
    """Without an endpoint the bucket is a host of its region, or, with dots in its name, a part of the path."""
    for url, more, host in (("s3://b/k", {}, b"b.s3.us-east-1.amazonaws.com:443"), ("s3://b.c/k", {"AWS_REGION": "eu-west-3"}, b"s3.eu-west-3.amazonaws.com:443"),
                            ("s3://b/k", {"AWS_REGION": "cn-north-1"}, b"b.s3.cn-north-1.amazonaws.com.cn:443")):
        with socket.create_server(("127.0.0.1", 0)) as proxy:       # curl asks it to connect, and learns nothing
            at = f"http://127.0.0.1:{proxy.getsockname()[1]}"
            p = subprocess.Popen([far.TOOL, "lookup", "0", "-t", url], stderr=subprocess.DEVNULL,
                                 env=far.environment(env("", https_proxy=at, **more)))
            link, _ = proxy.accept()
            with link:
                head = link.recv(4096)
            p.kill()
            p.wait()
            assert head.startswith(b"CONNECT " + host), (url, head)


# ---------------------------------------------------------------- profiles

NOBODY = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_DEFAULT_PROFILE": ""}
DEV = "[dev]\naws_access_key_id = AKIDDEV\naws_secret_access_key = s/dev\naws_session_token = t/dev\n"
DEFAULT = "[default]\naws_access_key_id = AKIDEF\naws_secret_access_key = s/def\n"
# name: config, credentials, environment, and what requests have of it: key, token, region. {url} is the server.
PROFILES = {
    "default": ("[default]\nregion = eu-west-1\n", DEFAULT + DEV, {}, ("AKIDEF", None, "eu-west-1")),
    "named": ("[default]\nregion = x-1\n[profile dev]\nregion=eu-west-2\n", DEFAULT + DEV, {"AWS_PROFILE": "dev"}, ("AKIDDEV", "t/dev", "eu-west-2")),
    "named by the other variable": ("", DEFAULT + DEV, {"AWS_DEFAULT_PROFILE": "dev"}, ("AKIDDEV", "t/dev", "us-east-1")),
    "quoted, keys in config": ('[profile "my dev"]\naws_access_key_id = AKIDMY\naws_secret_access_key = s\n', "", {"AWS_PROFILE": "my dev"},
                               ("AKIDMY", None, "us-east-1")),
    "keys of the environment are taken alone": ("[profile dev]\nregion = eu-west-2\n", DEV,
                                                {"AWS_PROFILE": "dev", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET},
                                                (KEY, None, "eu-west-2")),
    "credentials come over config": (DEFAULT.replace("AKIDEF", "AKIDOLD") + "region = eu-west-1\n", DEFAULT + "region = eu-west-3\n", {},
                                     ("AKIDEF", None, "eu-west-3")),
    "the environment comes first": ("[default]\nregion = eu-west-1\n", DEFAULT, {"AWS_DEFAULT_REGION": "eu-north-1"}, ("AKIDEF", None, "eu-north-1")),
    "comments, colons, groups": ("# one\n[default]\n; two\nOutput : json\nREGION: eu-west-1\ns3 =\n  addressing_style = path\n  region = no\n\n"
                                 "[profile dev]\nregion = no\n", DEFAULT.replace("\n", "\r\n"), {}, ("AKIDEF", None, "eu-west-1")),
    "endpoint of the profile": ("[default]\nendpoint_url = {url}/\n", DEFAULT, {"AWS_ENDPOINT_URL": ""}, ("AKIDEF", None, "us-east-1")),
    "endpoint of its services": ("[default]\nservices = here\nendpoint_url = http://127.0.0.1:1\n[services here]\ns3 =\n  endpoint_url = {url}\n"
                                 "[services other]\ns3 =\n  endpoint_url = http://127.0.0.1:1\n", DEFAULT, {"AWS_ENDPOINT_URL": ""},
                                 ("AKIDEF", None, "us-east-1")),
    "a program, but keys in credentials": ("[default]\ncredential_process = false\n", DEFAULT, {}, ("AKIDEF", None, "us-east-1")),
}
BOTOCORE = """
import botocore.session
s = botocore.session.Session()
c, region = s.get_credentials(), s.get_config_variable("region") or "us-east-1"
print(repr((c.access_key, c.token, region)), s.create_client("s3", region_name=region).meta.endpoint_url)
"""


@contextlib.contextmanager
def home(config, credentials):
    with folder() as d:
        Path(d, ".aws").mkdir()
        for name, text in (("config", config), ("credentials", credentials)):
            if text:
                Path(d, ".aws", name).write_text(text, newline="")
        yield d


def profiles():
    """Keys, token, region and endpoint of a profile, by the rules of Amazon's tools, from both files."""
    for name, (config, credentials, more, want) in PROFILES.items():
        with Server(lambda q: error(404, "NoSuchKey")) as s, home(config.replace("{url}", s.url), credentials) as d:
            r = lookup("s3://b/k", env=env(s.url, **{**NOBODY, "HOME": d, **more}))
            assert r.returncode == 4 and b"NoSuchKey" in r.stderr, (name, r)
            headers = s.log[0].headers
            key, _, region = headers["authorization"].partition("Credential=")[2].split("/")[:3]
            assert (key, headers.get("x-amz-security-token"), region) == want, (name, headers)
    with home("", DEFAULT) as d, home("", DEV) as other, Server(lambda q: error(404, "NoSuchKey")) as s:
        where = {"AWS_SHARED_CREDENTIALS_FILE": f"{other}/.aws/credentials", "AWS_CONFIG_FILE": f"{d}/none", "AWS_PROFILE": "dev"}
        lookup("s3://b/k", env=env(s.url, **{**NOBODY, "HOME": d, **where}))
        assert "Credential=AKIDDEV/" in s.log[0].headers["authorization"], s.log[0].headers


def profiles_of_no_use():
    """A profile that is not there, or whose keys come from elsewhere, and files that are none: nothing is asked, no secret is said."""
    role = "[default]\nrole_arn = arn:aws:iam::1:role/r\nsource_profile = dev\n"
    for config, credentials, more, code, says in (
            ("", DEV, {"AWS_PROFILE": "prod"}, 2, b"there is no profile prod"),
            (role, DEFAULT, {}, 3, b"the profile default gets its keys by role_arn"),
            ("[default]\nsso_session = x\n", "", {}, 3, b"by sso_session"),
            ("[default]\ncredential_process = secret-program\n", "", {}, 3, b"by credential_process"),
            ("", "aws_secret_access_key = s/dev\n", {}, 3, b"/.aws/credentials: line 1: a key before any [section]"),
            ("", "[default]\n\ns/dev\n", {}, 3, b"/.aws/credentials: line 3: expected KEY = VALUE"),
            ("[]\n", "", {}, 3, b"/.aws/config: line 1: expected [section]"),
            ("", "[default]\naws_access_key_id = x\n", {}, 2, b"only the access one is set")):
        with Server(bucket) as s, home(config, credentials) as d:
            r = lookup("s3://b/k", env=env(s.url, **{**NOBODY, "HOME": d, **more}))
            assert r.returncode == code and says in r.stderr and not s.log, (config, credentials, r)
            assert b"s/dev" not in r.stderr and b"secret-program" not in r.stderr, r
    with Server(bucket) as s, home(role, "") as d:
        same(lookup("s3://b/k", env=env(s.url, HOME=d)))          # keys of the environment need no profile's


# ---------------------------------------------------------------- moto

making = threading.Lock()       # checks run side by side, and two need the same environment


def make_moto(place):
    """An environment with moto, on first use."""
    wanted = (Path(__file__).parent / "requirements.txt").read_text()
    done = place / "done"
    if done.exists() and done.read_text() == wanted:
        return
    try:
        venv.create(place, with_pip=True, clear=True)
    except (OSError, subprocess.CalledProcessError) as e:
        raise Skip(f"moto: no virtual environment: {e}") from e
    r = subprocess.run([place / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "-q", "-r",
                        Path(__file__).parent / "requirements.txt"], capture_output=True, text=True)
    if r.returncode:
        raise Skip("moto: " + (r.stderr.strip().splitlines() or ["pip failed"])[-1])
    done.write_text(wanted)


@contextlib.contextmanager
def moto():
    """moto's python, and the address of its server."""
    place = ROOT / "build/moto"
    with making:
        make_moto(place)
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    server = subprocess.Popen([place / "bin/python", "-m", "moto.server", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.1)
        yield place / "bin/python", f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


FILL = """
import sys, boto3
url, table = sys.argv[1:]
s3 = boto3.client("s3", endpoint_url=url, region_name="eu-west-3", aws_access_key_id="a", aws_secret_access_key="b")
s3.create_bucket(Bucket="tables", CreateBucketConfiguration={"LocationConstraint": "eu-west-3"})
for key in ("m.safetensors", "a b/c+d=\\u00e9.safetensors"):
    s3.put_object(Bucket="tables", Key=key, Body=open(table, "rb").read())
"""


def another_server():
    """The rows of objects that boto3 has put into moto, and its words for what is not there."""
    with moto() as (python, url), folder() as d:
        Path(d, "t").write_bytes(TABLE)
        subprocess.run([python, "-c", FILL, url, f"{d}/t"], check=True, capture_output=True)
        for key in ("m.safetensors", "a b/c+d=é.safetensors"):
            for _ in range(2):
                same(lookup(f"s3://tables/{key}", WANTED, env(url), "--cache", f"{d}/c"))
        r = lookup("s3://tables/other", env=env(url))
        assert r.returncode == 4 and b"HTTP 404 Not Found: NoSuchKey" in r.stderr, r
        r = lookup("s3://elsewhere/other", env=env(url))
        assert r.returncode == 4 and b"NoSuchBucket" in r.stderr, r


def profiles_as_botocore():
    """What `profiles` expects is what botocore makes of the same files."""
    with moto() as (python, url):
        for name, (config, credentials, more, want) in PROFILES.items():
            with home(config.replace("{url}", url), credentials) as d:
                said = {**NOBODY, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": url, "HOME": d, **more}
                r = subprocess.run([python, "-c", BOTOCORE], env={k: v for k, v in said.items() if v}, capture_output=True, text=True)
                assert r.stdout.split(") ")[0] + ")" == repr(want), (name, r.stdout, r.stderr)
                assert r.stdout.split(") ")[1].strip().rstrip("/") == url, (name, r.stdout)


CHECKS = [published_examples, signed_ranges, session_tokens, regions, wrong_keys, public_buckets, keys_stay_here, names, hosts_of_regions,
          profiles, profiles_of_no_use, another_server, profiles_as_botocore]
