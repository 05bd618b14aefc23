#!/usr/bin/env python3
"""Lamp in the colour of the side to move: `lamp.py BROKER TOPIC`.

It drives an RGB LED on GPIO 17, 27 and 22.
"""

import json
import sys

from gpiozero import RGBLED
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

lamp = RGBLED(17, 27, 22, pwm=False)


def show(client, _, message):
    """Show the bright parts of the side's colour. The lamp is off if no side is to move."""
    turn = json.loads(message.payload)
    lamp.color = [part > 127 for part in turn["rgb"]] if turn["seat"] != "none" else (0, 0, 0)
    print(turn["seat"], turn["colour"], flush=True)


client = Client(CallbackAPIVersion.VERSION2)
client.on_connect = lambda *_: client.subscribe(f"{sys.argv[2]}/turn")
client.on_message = show
host, _, port = sys.argv[1].partition(":")
client.connect(host, int(port or 1883))
client.loop_forever()
