"""What the table says aloud, and when it is quiet."""
