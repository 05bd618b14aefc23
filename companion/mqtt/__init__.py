"""What the table tells a home or a café over MQTT, and the little that it hears from there.

An adapter: may import everything below, but no other adapter.
"""
