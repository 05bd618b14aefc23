"""Tests of a whole machine under QEMU: `make install` builds it, then it is booted and played on,
and its plug is pulled.
"""
