#!/usr/bin/env python3
"""Random opponent for Outbuffered. It speaks JSON lines on standard input and output.

The table starts it as a process of its own and sends one request a line: `new` before a game,
`see` after each turn, `choose` when it has to act. Each gets one answer, also on one line.
"""

import json
import random
import sys

ORDERS = "UDLRSI"  # up, down, left, right, shoot, idle

for line in sys.stdin:
    request = json.loads(line)
    if "new" in request:
        answer = {"ready": True}
    elif "see" in request:
        answer = {"ok": True}
    elif "choose" in request:
        action = "".join(random.choices(ORDERS, k=3))
        answer = {"action": action, "nodes": 1, "why": [f"{action} came up."]}
    else:
        answer = {"error": {"kind": "malformed", "message": "Send new, see or choose"}}
    print(json.dumps(answer), flush=True)
