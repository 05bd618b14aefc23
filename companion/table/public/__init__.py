"""What everybody may know of the table, as messages for other programs."""
