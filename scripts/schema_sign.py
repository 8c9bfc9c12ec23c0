"""Signs the requests of schemathesis to the routes of the perpetual venue (`scripts/schema.sh`).

Only where SCHEMA_SIGN is set, which is in the run of requests that fit the document: in the other one time and signature are
among what is spoilt. Key and secret are SCHEMA_KEY and SCHEMA_SECRET.
"""

import hashlib
import hmac
import os
import time
import urllib.parse

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    query = case.query or {}
    if "SCHEMA_SIGN" not in os.environ or "timestamp" not in query or "signature" not in query:
        return
    pairs = [(name, value) for name, value in query.items() if name not in ("timestamp", "signature", "recvWindow")]
    pairs.append(("timestamp", str(int(time.time() * 1000))))
    payload = urllib.parse.urlencode(pairs, doseq=True)
    secret = os.environ["SCHEMA_SECRET"].encode()
    signature = hmac.new(secret, payload.encode(), hashlib.sha256).hexdigest()
    case.query = {**dict(pairs), "signature": signature}
    case.headers = {**(case.headers or {}), "X-EX-APIKEY": os.environ["SCHEMA_KEY"]}
