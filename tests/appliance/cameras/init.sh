#!/bin/sh
# The first process of the machine with cameras: it mounts file systems, runs the camera contract on real Picamera2,
# and switches the machine off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev 2>/dev/null
mount -t tmpfs run /run; mount -t tmpfs tmp /tmp; mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
exec >/dev/console 2>&1
mkdir -p /dev/dma_heap
[ -e /dev/dma_heap/linux,cma ] || ln -s "$(ls /dev/dma_heap | head -1)" "/dev/dma_heap/linux,cma"
cd /opt/project
export PYTHONPATH=/opt/project:/opt/project/tests:/opt/cameras REAL_CAMERAS=1 LIBCAMERA_LOG_LEVELS='*:ERROR'
timeout "${CAMERA_TEST_S:-400}" python3 -m pytest -c /dev/null --rootdir /opt/project --noconftest -p no:cacheprovider -v --color=no \
	--tb=short -k real tests/vision/test_camera_contract.py
echo "contract: status $?"
sync
echo o >/proc/sysrq-trigger
sleep 20
