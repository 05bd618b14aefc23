"""The live table: its state, the inputs that change it, and what each viewer may know of it.

- `session`: the state of seats and game as a value. Its head explains the words of this package.
- `records`, `reducer`, `undo`, `seats.seat_fold`: accepted inputs, and the next session after each.
- `state`, `store`, `table`: the session with what need not survive a restart, its lock and thread,
  and the public methods.
- `turns`, `lobby`, `seats`: what inputs of people, pads and programs do.
- `board_check`, `board_follower`: what the camera sees, compared with what is expected.
- `views`, `table_view`, `prompts`: what a viewer may know, and the sign that says what is due.
- `chance`, `clocks`: the seed of a game, and its clocks.
- `listeners`, `follower`: lamps, cues, and threads that act after each change.
- `public`, `remote`: messages for hubs, and games between two tables.

May import `core` and `games`.
"""
