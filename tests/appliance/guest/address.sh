#!/bin/sh
# What udhcpc does with an address that was given to the phone.
case $1 in
bound | renew)
	ip address replace "$ip/${mask:-24}" dev "$interface"
	ip link set "$interface" up
	;;
deconfig)
	ip address flush dev "$interface"
	ip link set "$interface" up
	;;
esac
