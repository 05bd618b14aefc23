#!/usr/bin/env python3
"""Random opponent for Outbuffered. It speaks JSON lines on standard input and output."""

import json
import random
import sys

for line in sys.stdin:
    request = json.loads(line)
    if "new" in request:
        answer = {"ready": True}
    elif "see" in request:
        answer = {"ok": True}
    elif "choose" in request:
        orders = "".join(random.choices("UDLRSI", k=3))
        answer = {"action": orders, "nodes": 1, "why": [f"{orders} came up."]}
    else:
        answer = {"error": {"kind": "malformed", "message": "Send new, see or choose"}}
    print(json.dumps(answer), flush=True)
