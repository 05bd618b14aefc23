#!/usr/bin/env python3
"""Lamp in the colour of the side to move: `lamp.py BROKER[:PORT] TOPIC`.

TOPIC is the beginning of the table's topics, such as `tabletop/pi`. The lamp is an RGB LED on
GPIO 17, 27 and 22.
"""

import json
import sys

from gpiozero import RGBLED
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

address, topic = sys.argv[1:]
lamp = RGBLED(17, 27, 22, pwm=False)


def subscribe(client, *_):
    """Ask for the turns, once connected. The broker sends the present one at once."""
    client.subscribe(f"{topic}/turn")


def show(client, _, message):
    """Show the bright parts of the side's colour. The lamp is off if no side is to move."""
    turn = json.loads(message.payload)
    is_off = turn["seat"] == "none"
    lamp.color = (0, 0, 0) if is_off else [part > 127 for part in turn["rgb"]]
    print(turn["seat"], turn["colour"], flush=True)


client = Client(CallbackAPIVersion.VERSION2)
client.on_connect = subscribe
client.on_message = show
host, _, port = address.partition(":")
client.connect(host, int(port or 1883))
client.loop_forever()
