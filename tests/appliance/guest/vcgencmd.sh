#!/bin/sh
# What the firmware of a Raspberry Pi says of its voltage.
echo "throttled=$(cat /run/appliance/throttled)"
