"""A Raspberry Pi's own pins for gpiozero: what is missing, the kernel's lines, and the process that dims and sounds."""
