"""Makes so many funded accounts and prints, a line each, the answer that made its API key.

    accounts.py <ringside> <url> <admin key> <count>
"""

import base64
import json
import subprocess
import sys

from venue import send

FIRST_KEY = 1000


def main(ringside, url, admin_key, count):
    for key in range(FIRST_KEY, FIRST_KEY + int(count)):
        login = subprocess.run([ringside, "login", "--url", url, "--key", f"{key:064d}"], check=True, capture_output=True, text=True)
        bearer = {"Authorization": f"Bearer {login.stdout.strip()}"}
        made = send("POST", f"{url}/api/v1/account/api-keys", bearer, json.dumps({"label": "flow", "permissions": ["read", "trade"]}).encode())
        credit = {"user_address": address_of(login.stdout), "amount": "5000000", "reason": "flow"}
        send("POST", f"{url}/admin/perpetual/credit", {"X-API-Key": admin_key}, json.dumps(credit).encode())
        print(json.dumps(made))


def address_of(token):
    """The wallet, as the token names it."""
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["sub"]


if __name__ == "__main__":
    main(*sys.argv[1:])
