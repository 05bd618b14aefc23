"""Identity, rate limits, host names, proxies and TLS.

May import what `web` may.
"""
