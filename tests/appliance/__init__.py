"""Tests of a whole machine under QEMU.

The project is installed on its disk by `make install`. Then the machine is booted and played on,
and its plug is pulled.
"""
