"""Cameras whose pictures come over the network: an old phone, and video streams.

The JPEGs of a phone are decoded by Pillow, because OpenCV's own decoder writes beyond its memory in
version 4.11 (CVE-2025-53644). Streams are decoded by FFmpeg, which is a part of OpenCV.
"""
