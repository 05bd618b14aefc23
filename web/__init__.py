"""The web pages of the table. Start reading at `web.app.create_app`."""
