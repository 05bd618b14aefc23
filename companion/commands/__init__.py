"""What the command line does beside running the table."""
