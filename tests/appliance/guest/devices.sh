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
# The firmware's word on the voltage and the processor's warmth, as a Raspberry Pi tells them.
install -m755 /opt/appliance/vcgencmd.sh /usr/local/bin/vcgencmd
echo 0x0 >/run/appliance/throttled
mkdir -p /run/appliance/thermal/thermal_zone0
echo cpu-thermal >/run/appliance/thermal/thermal_zone0/type
echo 48312 >/run/appliance/thermal/thermal_zone0/temp
udevadm settle --timeout=30
