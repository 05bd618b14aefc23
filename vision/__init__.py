"""Everything from pictures to layouts: cameras, readers, and the simulated table.

`cameras` and `network` provide frames, and `detection` finds markers and movement in them. `pose`
determines where the board is. `pieces`, `cards` and `tiles` interpret parts of it, `reading`
combines them into layouts, and `watcher` runs it on a camera. `simulation` renders tables that do
not exist, `still_pictures` reads single pictures, and `diagnosis` and `readability` report
problems.
"""

from companion import MAX_PIXELS as MAX_PIXELS  # before OpenCV is imported
