"""The owner's pages: settings, the first evening, and trying keys and lamps."""
