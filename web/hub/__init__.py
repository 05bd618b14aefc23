"""The pages of a hub: the wall of a room of tables, its host's page, and tables followed from
anywhere.
"""
