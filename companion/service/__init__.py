"""The running service: its parts and how they are connected, its life cycle, health and log.

- `app`: opens all parts, connects them, and closes them (`Companion`).
- `lifecycle`, `systemd`: start, restart and end of the service, and its reports to systemd.
- `board_watch`, `phone_camera_server`: the camera, and an old phone that may be the camera.
- `hub_link`: the link to a hub of many tables.
- `health`, `doctor_findings`: regular checks, and what they find.
- `logs`, `game_log`, `support_bundle`: what is logged, and the file for somebody who helps.

May import everything except `cli` and `tools`.
"""
