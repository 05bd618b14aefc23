"""The guided first game of Robot Arena: move, hit, defend.

`companion/games/lesson.py` explains the fields, and `orders.py` the notation of the orders.
"""

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.arena.board import ArenaEvent
from companion.games.events import CommonEvent
from companion.games.lesson import Lesson, LessonStep

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH

LESSON = Lesson(
    goal=say("Break their robots before yours break."),
    # A robot of petrol, an attack, and a robot of coral that breaks.
    picture=(
        (("disc", "petrol"),),
        (("blade", "plain"),),
        (("diamond", "coral"), ("burst", "plain")),
    ),
    # Petrol's robots 1, 2 and 3, then coral's. Robots with the same number face each other on one
    # file, with one free square between robots 1 and between robots 2.
    options={"start": "c4 e4 g3 / c6 e6 g7"},
    steps=(
        LessonStep(
            say("Move"),
            {SOUTH: "1:N 2:N 3:N", NORTH: "1:S 2:D 3:S"},
            head=say("Both want c5. Nobody gets it."),
            why=say("All robots move at once. If two want one square, both stay."),
            tasks={
                SOUTH: say("All three go north. Robot 1 will find somebody in its way."),
                NORTH: say("1 and 3 go south, 2 defends. Robot 1 will find somebody in its way."),
            },
            after=say("Both robots 1 bumped and stayed. The others are a step nearer."),
            # Both robots 1 bounce off c5.
            shows=(CommonEvent.BOUNCE, CommonEvent.BOUNCE, CommonEvent.MOVE),
        ),
        LessonStep(
            say("Hit"),
            {SOUTH: "1:D 2:aN 3:N", NORTH: "1:D 2:aS 3:D"},
            head=say("Both robots 2 hit, face to face."),
            why=say("An attack hits the next square and takes 12 of 30 points."),
            tasks={
                SOUTH: say("Robot 2 attacks north. 3 goes on, 1 defends."),
                NORTH: say("Robot 2 attacks south. The others defend."),
            },
            after=say("Each has lost 12 points. At 0 a robot leaves the board."),
            # Each robot 2 hits the other one.
            shows=(CommonEvent.SHOT, CommonEvent.SHOT),
        ),
        LessonStep(
            say("Defend"),
            {SOUTH: "1:N 2:D 3:aN", NORTH: "1:D 2:aS 3:aS"},
            head=say("Coral hits robot 2, and it defends."),
            why=say("A robot that defends loses only half. Guess where they will hit."),
            tasks={
                SOUTH: say("Coral hits your robot 2 again: this time it defends. 3 attacks north."),
                NORTH: say("2 and 3 attack south. Watch what is left of 12."),
            },
            after=say("Only 6 points instead of 12. From here on orders are secret."),
            shows=(ArenaEvent.DEFEND, CommonEvent.SHOT),
        ),
    ),
)

# Effect of each order in a few words. `companion/games/help.py` looks it up by the English label
# that the order has on the order sheet (`screen.KINDS`).
HELP = {
    "Move": say("one square, unless two want it"),
    "Attack": say("12 points off the next square"),
    "Defend": say("every hit counts half"),
    "Self-destruct": say("6 points off everyone around it"),
}
