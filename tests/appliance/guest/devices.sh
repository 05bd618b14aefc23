#!/bin/sh
# The kernel's simulated hardware: a bank of pins as the Raspberry Pi 4 has it, and a camera that is fed with frames.
set -e
modprobe gpio-sim
bank=/sys/kernel/config/gpio-sim/pi/bank
mkdir -p "$bank"
echo 58 >"$bank/num_lines"
echo pinctrl-bcm2711 >"$bank/label"
echo 1 >/sys/kernel/config/gpio-sim/pi/live
modprobe v4l2loopback video_nr=0 card_label="Table camera" max_buffers=2
# gpiozero asks the processor's page which Raspberry Pi this is; the service gets this one in its place.
mkdir -p /run/appliance
{ cat /proc/cpuinfo; echo "Revision : c03114"; } >/run/appliance/cpuinfo
udevadm settle --timeout=30
