#!/bin/busybox sh
# The first process of the emulated Raspberry Pi: loads the modules of its card, and changes to the card's root.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in crc32c_generic bcm2835 ext4; do modprobe $module; done
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	[ -e /dev/mmcblk0p2 ] && break
	sleep 1
done
mount -t ext4 /dev/mmcblk0p2 /root || { echo "no card"; poweroff -f; }
mount --move /proc /root/proc
mount --move /sys /root/sys
mount --move /dev /root/dev
exec switch_root /root /lib/systemd/systemd
