"""What is printed: kits, booklets, cards and share pictures, as PDFs and GIFs.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
