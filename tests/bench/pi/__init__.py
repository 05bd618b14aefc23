"""Bench of the service with as much processor time as a small Raspberry Pi has."""
