"""The owner's pages: settings, Wi-Fi, the first evening, and the check of keys and lamps."""
