"""The whole machine under QEMU: built by the project's own `make install`, booted, played on, its
plug pulled.
"""
