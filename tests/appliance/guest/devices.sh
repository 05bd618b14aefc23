#!/bin/sh
# Makes the kernel's simulated hardware: a bank of pins like that of a Raspberry Pi 4, and a camera that shows what is
# written to it.
set -e
modprobe gpio-sim
bank=/sys/kernel/config/gpio-sim/pi/bank
mkdir -p "$bank"
echo 58 >"$bank/num_lines"
echo pinctrl-bcm2711 >"$bank/label"
echo 1 >/sys/kernel/config/gpio-sim/pi/live
modprobe v4l2loopback video_nr=0 card_label="Table camera" max_buffers=2
# gpiozero finds the Raspberry Pi's model in /proc/cpuinfo. The service sees this file in its place (`emulated.conf`).
mkdir -p /run/appliance
{ cat /proc/cpuinfo; echo "Revision : c03114"; } >/run/appliance/cpuinfo
# The voltage and the processor's temperature, as the firmware of a Raspberry Pi reports them.
install -m755 /opt/appliance/vcgencmd.sh /usr/local/bin/vcgencmd
echo 0x0 >/run/appliance/throttled
mkdir -p /run/appliance/thermal/thermal_zone0
echo cpu-thermal >/run/appliance/thermal/thermal_zone0/type
echo 48312 >/run/appliance/thermal/thermal_zone0/temp
udevadm settle --timeout=30
