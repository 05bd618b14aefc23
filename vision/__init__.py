"""The board's door: cameras, the reader that turns pictures into layouts, and the rendered table of
the simulation.

`camera` gives frames, `markers` finds markers in them, `pose` knows where the board is, `squares`
tells an empty square from a hidden one, `reader` puts it together, `watcher` runs it; `render` and
`scene` draw a table that does not exist, `read` answers for single pictures.
"""

from companion import MAX_PIXELS as MAX_PIXELS  # before OpenCV is imported
