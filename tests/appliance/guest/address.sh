#!/bin/sh
# Called by udhcpc: sets or removes the address that the phone was given.
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
