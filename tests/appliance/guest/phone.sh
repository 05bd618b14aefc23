#!/bin/sh
# A phone beside the machine: the second of two simulated radios, in a network of its own.
#   phone.sh on              both radios are there
#   phone.sh join NAME PASSWORD   it looks for that Wi-Fi from now on, and asks for an address once it is in it
#   phone.sh fetch ADDRESS   a page, asked for over the air
#   phone.sh off             both radios are gone
set -e
inside="ip netns exec phone"
case $1 in
on)
	modprobe mac80211_hwsim radios=2
	chmod +x /opt/appliance/address.sh
	ip netns add phone
	mkdir -p /etc/netns/phone
	echo "nameserver 10.42.0.1" >/etc/netns/phone/resolv.conf
	for device in /sys/class/net/wlan*; do radio=$device; done
	iw phy "$(cat "$radio/phy80211/name")" set netns name phone
	$inside ip link set lo up
	;;
join)
	device=$($inside ls /sys/class/net | grep wlan)
	printf 'network={\nssid="%s"\npsk="%s"\nscan_ssid=1\n}\n' "$2" "$3" >/run/phone.conf
	$inside wpa_supplicant -B -P /run/phone.pid -i "$device" -c /run/phone.conf >/dev/null
	# Without an end: it asks again whenever nobody answers.
	$inside udhcpc -b -t 3 -T 2 -A 2 -S -i "$device" -p /run/phone-address.pid -s /opt/appliance/address.sh >/dev/null 2>&1
	;;
fetch)
	$inside python3 -c 'import sys, urllib.request as u; print(u.urlopen(sys.argv[1], timeout=20).read().decode())' "$2"
	;;
off)
	for pid in /run/phone.pid /run/phone-address.pid; do [ ! -e $pid ] || kill "$(cat $pid)" || true; done
	ip netns delete phone 2>/dev/null || true
	modprobe -r mac80211_hwsim
	;;
esac
