"""Everything from pictures to layouts: cameras, readers, and the simulated table.

`cameras` and `network` provide frames, and `detection` finds markers and movement in them. `pose`
determines where the board is. `pieces`, `cards` and `tiles` interpret parts of the board, `reading`
combines what they find into layouts, and `watcher` does all of this with the frames of a camera.
`simulation` renders tables that do not exist, `still_pictures` reads single pictures, and
`diagnosis` and `readability` report problems.

A *kit* is everything that is printed for a game: a board with corner markers, and pieces or cards.
A *face* is a side of a piece, with a marker of its own. A *sighting* is a marker that was found in
a picture, a *pose* is where the camera stands, and a *reading* is what one frame shows of the
board. A *luma* is the brightness of a picture, (height, width) uint8. A *hole* is a square on which
no piece can be, and a *strip* the paper beyond the first or the last rank.

Many limits are tuned. The comment on a limit says what would become worse with another value:
“Larger: …” is what would happen with a larger one, and “Smaller: …” with a smaller one. It also
says where the value comes from, if that is a measurement, a data sheet, or the print of the boards.
The head of a module says how its other limits were chosen. Where it does not, they were chosen by
trial on rendered tables. `make bench ARGS=reading` counts what is read, unknown and wrong with
these limits, and `docs/measurements.md` has the results.
"""

from companion import MAX_PIXELS as MAX_PIXELS  # before OpenCV is imported
