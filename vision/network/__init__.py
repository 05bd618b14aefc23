"""Cameras whose pictures come by the network. Nothing of these pictures is decoded by OpenCV.

Its version 4.11 writes beyond its memory (CVE-2025-53644).
"""
