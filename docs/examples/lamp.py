#!/usr/bin/env python3
"""A lamp in the colour of whoever is on turn: `lamp.py BROKER TOPIC`, with an RGB LED on GPIO 17, 27 and 22."""

import json
import sys

from gpiozero import RGBLED
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

lamp = RGBLED(17, 27, 22, pwm=False)


def show(client, _, message):
    """Light what is bright in the colour; nobody on turn: dark."""
    turn = json.loads(message.payload)
    lamp.color = [part > 127 for part in turn["rgb"]] if turn["seat"] != "none" else (0, 0, 0)
    print(turn["seat"], turn["colour"], flush=True)


client = Client(CallbackAPIVersion.VERSION2)
client.on_connect = lambda *_: client.subscribe(f"{sys.argv[2]}/turn")
client.on_message = show
host, _, port = sys.argv[1].partition(":")
client.connect(host, int(port or 1883))
client.loop_forever()
