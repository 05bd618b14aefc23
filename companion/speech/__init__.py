"""What the table says aloud, who says it, and when it is quiet.

An adapter: may import everything below it, but no other adapter.
"""
