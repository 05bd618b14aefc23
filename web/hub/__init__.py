"""The pages of a hub: the wall of the room, the owner's pages, and pages for spectators."""
