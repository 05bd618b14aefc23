"""The pages: everything that a browser shows, asks and hears of the table. Start at
`web.app.create_app`.
"""
