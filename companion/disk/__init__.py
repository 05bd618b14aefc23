"""The journal's file on the disk: its format, its chain of checksums, rescue from damage, dates, and the space left."""
