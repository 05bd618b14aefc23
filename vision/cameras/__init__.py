"""Cameras: Picamera2, V4L2, files; their lenses, exposure and troubles.

May import `companion.core` and `vision`.
"""
