"""AWS Signature Version 4 as a server checks it, written from its specification and held against Amazon's published examples.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""
import calendar
import hashlib
import hmac
import re
import time
from urllib.parse import quote, unquote

NOTHING = hashlib.sha256(b"").hexdigest()


def sign(secret, method, path, headers, signed, date, region):
    """The signature of a request without a body; headers: {lower-case name: value}, signed: names in order."""
    path, _, query = path.partition("?")
    pairs = sorted(tuple(quote(unquote(x), safe="-_.~") for x in p.partition("=")[::2]) for p in query.split("&") if p)
    canonical = "\n".join([method, quote(unquote(path), safe="/-_.~"), "&".join(f"{k}={v}" for k, v in pairs),
                           *(f"{h}:{' '.join(headers[h].split())}" for h in signed), "", ";".join(signed),
                           headers["x-amz-content-sha256"]])
    scope = f"{date[:8]}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def fault(request, keys, region, token=None):
    """Why a server refuses this request (an error code of S3); None: it is signed as it should be."""
    h = request.headers
    m = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?SignedHeaders=([^,]+), ?"
                     r"Signature=([0-9a-f]{64})", h.get("authorization", ""))
    if not m:
        return "AccessDenied"
    who, day, where, signed, signature = m.groups()
    signed = signed.split(";")
    if who not in keys:
        return "InvalidAccessKeyId"
    if where != region:
        return "AuthorizationHeaderMalformed"
    if signed != sorted(set(signed)) or "host" not in signed or any(x.startswith("x-amz-") and x not in signed for x in h):
        return "AccessDenied"                       # "There were headers present in the request which were not signed"
    if h.get("x-amz-content-sha256") != NOTHING or h.get("x-amz-date", "")[:8] != day:
        return "XAmzContentSHA256Mismatch"
    if abs(calendar.timegm(time.strptime(h["x-amz-date"], "%Y%m%dT%H%M%SZ")) - time.time()) > 900:
        return "RequestTimeTooSkewed"
    if h.get("x-amz-security-token") != token:
        return "InvalidToken"
    good = sign(keys[who], request.method, request.path, h, signed, h["x-amz-date"], where)
    return None if hmac.compare_digest(good, signature) else "SignatureDoesNotMatch"


def check_examples():
    secret, date = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524T000000Z"
    headers = {"host": "examplebucket.s3.amazonaws.com", "x-amz-content-sha256": NOTHING, "x-amz-date": date}
    for path, more, want in (
            ("/test.txt", {"range": "bytes=0-9"}, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            ("/?lifecycle", {}, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            ("/?max-keys=2&prefix=J", {}, "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")):
        all_headers = {**headers, **more}
        assert sign(secret, "GET", path, all_headers, sorted(all_headers), date, "us-east-1") == want, path
