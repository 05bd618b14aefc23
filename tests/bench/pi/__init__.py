"""The service inside a budget of processor time like that of a small Raspberry Pi."""
