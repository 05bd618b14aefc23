"""What the table says aloud, and when it is quiet.

An adapter: may import everything below, but no other adapter.
"""
