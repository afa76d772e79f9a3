"""A model hub on loopback: the part of the Hugging Face hub's API that its clients use, and a second server as its CDN.

`with Hub({"org/model": {"config.json": b"...", ...}}) as hub: ... hub.url, hub.log, hub.cdn.log`. Large files (.safetensors, .bin,
.gguf, or `large`) are LFS files: they lead to the CDN, which is another origin, by an address that is signed. A model has the commits
of `commits`, newest last; by default one.
"""
import hashlib
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cases"))
from server import Server, files, reply  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LFS = (".safetensors", ".bin", ".gguf", ".npy")


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def is_lfs(name):
    return name.endswith(LFS)


def hash_of(name, data):
    """How the cache names the content."""
    return hashlib.sha256(data).hexdigest() if is_lfs(name) else git_hash(data)


def refusal(status, code=None, text="no"):
    return reply(status, json.dumps({"error": text}).encode(), {"X-Error-Code": code} if code else {})


class Hub:
    def __init__(self, models, token=None, commit=COMMIT, sizes=True, before=None, at_cdn=None):
        """token: who may read. sizes: the list of files has their sizes and hashes. before(request): an answer in place of the usual
        one, or None; at_cdn(request, name, data): the same for the CDN."""
        self.models, self.token, self.commit, self.sizes, self.before, self.at_cdn = models, token, commit, sizes, before, at_cdn
        self.cdn, self.api = Server(self.answer_cdn), Server(self.answer)

    def __enter__(self):
        self.cdn.__enter__()
        self.api.__enter__()
        return self

    def __exit__(self, *error):
        self.api.__exit__(*error)
        self.cdn.__exit__(*error)

    @property
    def url(self):
        return self.api.url

    @property
    def log(self):
        return self.api.log

    @property
    def asked(self):
        """What both were asked for, without addresses of hosts."""
        return [q.path for q in self.api.log], [q.path.split("?")[0] for q in self.cdn.log]

    def revision(self, name):
        return self.commit if name in ("main", "v1", "refs/pr/1", self.commit) else None

    def listing(self, members, tree):
        out = []
        for name, data in members.items():
            entry = {"type": "file", "path": name} if tree else {"rfilename": name}
            if self.sizes or tree:
                entry.update({"size": len(data), "oid" if tree else "blobId": git_hash(data if not is_lfs(name) else b"pointer " + data)})
                if is_lfs(name):
                    entry["lfs"] = {"oid" if tree else "sha256": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            out.append(entry)
        return out

    def answer(self, q):
        early = self.before(q) if self.before else None
        if early:
            return early
        path = unquote(q.path.split("?")[0])
        m = re.fullmatch(r"/api/models/(.+?)/(revision|tree)/(.+?)/?", path) or re.fullmatch(r"/(.+?)/(resolve)/(refs/pr/1|[^/]+)/.+", path)
        if not m or m[1] not in self.models:
            return refusal(401, "RepoNotFound")
        if self.token and q.headers.get("authorization") != f"Bearer {self.token}":
            return refusal(401, "GatedRepo") if m[2] == "resolve" else refusal(401, "RepoNotFound")
        members, commit = self.models[m[1]], self.revision(m[3])
        if not commit:
            return refusal(404, "RevisionNotFound")
        if m[2] == "revision":
            return reply(200, json.dumps({"id": m[1], "modelId": m[1], "sha": commit, "private": False, "gated": False, "disabled": False,
                                          "tags": [], "siblings": self.listing(members, False)}).encode(), {"X-Repo-Commit": commit})
        if m[2] == "tree":
            return reply(200, json.dumps(self.listing(members, True)).encode(), {"X-Repo-Commit": commit})
        return self.file(q, path.split(f"/resolve/{m[3]}/", 1)[1], members, commit)

    def file(self, q, name, members, commit):
        if name not in members:
            return reply(404, b"Entry not found", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        data, headers = members[name], {"X-Repo-Commit": commit}
        if not is_lfs(name):
            return files(q, data, {**headers, "ETag": f'"{git_hash(data)}"'})
        return reply(302, b"", {**headers, "X-Linked-ETag": f'"{hash_of(name, data)}"', "X-Linked-Size": str(len(data)),
                                "Location": f"{self.cdn.url}/{hash_of(name, data)}?signature=s3cret"})

    def answer_cdn(self, q):
        assert "authorization" not in q.headers, q.headers
        for members in self.models.values():
            for name, data in members.items():
                if q.path == f"/{hash_of(name, data)}?signature=s3cret":
                    return (self.at_cdn and self.at_cdn(q, name, data)) or files(q, data, {"ETag": '"of the CDN"'})
        return reply(403, b"<Error>no</Error>")
