#!/bin/sh
# Prints what the firmware of a Raspberry Pi reports of its voltage.
echo "throttled=$(cat /run/appliance/throttled)"
