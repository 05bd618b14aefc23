"""What is printed: kits and cards, as PDFs, and the pictures in rules.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
