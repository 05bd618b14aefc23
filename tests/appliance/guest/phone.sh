#!/bin/sh
# A phone and a home's router beside the machine. Each has one of three simulated radios in a network of its own.
#   phone.sh on              make the three radios, and give one to the phone
#   phone.sh home NAME PASSWORD   start the router's Wi-Fi
#   phone.sh join NAME PASSWORD   let the phone look for that Wi-Fi, and ask for an address there
#   phone.sh leave           let the phone leave its Wi-Fi
#   phone.sh fetch ADDRESS [FORM]   print a page that the phone gets over the air. With a form, the phone sends that
#   phone.sh off             remove all radios
set -e
inside="ip netns exec phone"
case $1 in
on)
	modprobe mac80211_hwsim radios=3
	chmod +x /opt/appliance/address.sh
	ip netns add phone
	mkdir -p /etc/netns/phone
	echo "nameserver 10.42.0.1" >/etc/netns/phone/resolv.conf
	for device in /sys/class/net/wlan*; do radio=$device; done
	iw phy "$(cat "$radio/phy80211/name")" set netns name phone
	$inside ip link set lo up
	;;
home)
	ip netns add home
	for device in /sys/class/net/wlan*; do radio=$device; done
	iw phy "$(cat "$radio/phy80211/name")" set netns name home
	device=$(ip netns exec home ls /sys/class/net | grep wlan)
	printf 'network={\nssid="%s"\npsk="%s"\nmode=2\nfrequency=2412\nkey_mgmt=WPA-PSK\nproto=RSN\npairwise=CCMP\n}\n' \
		"$2" "$3" >/run/home.conf
	ip -n home link set lo up
	ip netns exec home wpa_supplicant -B -P /run/home.pid -i "$device" -c /run/home.conf >/dev/null
	ip -n home address add 192.168.77.1/24 dev "$device"
	ip netns exec home dnsmasq --interface="$device" --bind-interfaces --port=0 --user=root --leasefile-ro \
		--pid-file=/run/home-addresses.pid --dhcp-range=192.168.77.10,192.168.77.50
	;;
leave)
	for pid in /run/phone-address.pid /run/phone.pid; do [ ! -e $pid ] || kill "$(cat $pid)" || true; done
	rm -f /run/phone-address.pid
	;;
join)
	device=$($inside ls /sys/class/net | grep wlan)
	printf 'network={\nssid="%s"\npsk="%s"\nscan_ssid=1\n}\n' "$2" "$3" >/run/phone.conf
	$inside wpa_supplicant -B -P /run/phone.pid -i "$device" -c /run/phone.conf >/dev/null
	# In the background: it asks again until somebody answers.
	$inside udhcpc -b -t 3 -T 2 -A 2 -S -i "$device" -p /run/phone-address.pid -s /opt/appliance/address.sh >/dev/null 2>&1
	;;
fetch)
	$inside python3 -c 'import sys, urllib.request as u; form = "".join(sys.argv[2:]).encode() or None
print(u.urlopen(sys.argv[1], form, timeout=60).read().decode())' "$2" ${3:+"$3"}
	;;
off)
	for pid in /run/phone.pid /run/phone-address.pid /run/home.pid /run/home-addresses.pid; do [ ! -e $pid ] || kill "$(cat $pid)" || true; done
	for name in phone home; do ip netns delete $name 2>/dev/null || true; done
	modprobe -r mac80211_hwsim
	;;
esac
