"""Everything that is printed: kits and table cards as PDFs, and the pictures in the rules.

May import `core`, `games`, `vision`, `table` and `storage`.
"""
