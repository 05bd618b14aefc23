"""The guided first game of Outbuffered: move, bounce, shoot.

`companion/games/lesson.py` explains the fields. The three letters of an action are three orders,
carried out one after the other: `U D L R` go up, down, left and right as seen from the seat, `S`
shoots, and `I` waits.
"""

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.events import CommonEvent
from companion.games.lesson import Lesson, LessonStep
from companion.games.outbuffered.board import OutbufferedEvent

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH

LESSON = Lesson(
    goal=say("Fetch their flag, bring it home."),
    # A robot of purple, lime's flag on its base, and the robot with that flag on purple's base.
    picture=(
        (("robot-s", "purple"),),
        (("base-n", "lime"), ("flag-n", "lime")),
        (("base-s", "purple"), ("robot-s", "purple"), ("flag-n", "lime")),
    ),
    steps=(
        LessonStep(
            say("Move"),
            {SOUTH: "URI", NORTH: "UII"},
            head=say("Three orders each, then all at once"),
            why=say("Each order is one step. Up is always away from you."),
            tasks={
                SOUTH: say("Up and right take you to b2, on the way to their flag."),
                NORTH: say("Up takes you to c3. Then wait and watch purple."),
            },
            after=say("Both have moved, one order after the other."),
            shows=(CommonEvent.MOVE, CommonEvent.MOVE, CommonEvent.MOVE),
        ),
        LessonStep(
            say("Bump"),
            {SOUTH: "UUU", NORTH: "RUI"},
            head=say("Both want b3. Nobody gets it."),
            why=say("They bump and stay. Guessing what the other one does is the whole game."),
            tasks={
                SOUTH: say(
                    "Lime goes for b3 too. Go up three times all the same: their flag is on b4."
                ),
                NORTH: say("Purple goes for b3 too: you bump. Then you slip past it."),
            },
            after=say("First they bumped. Then the way was free, all the way to the flag."),
            shows=(CommonEvent.BOUNCE, CommonEvent.BOUNCE, OutbufferedEvent.FLAG_TAKEN),
        ),
        LessonStep(
            say("Shoot"),
            {SOUTH: "DSI", NORTH: "RSI"},
            head=say("Both shoot. Both are hit."),
            why=say("A shot goes along the rank and the file until it meets a wall."),
            tasks={
                SOUTH: say("Step down to b3, next to lime, and shoot. Lime has the same idea."),
                NORTH: say(
                    "Step to b2, below purple, and shoot: a robot that is hit drops the flag."
                ),
            },
            after=say(
                "Both are hit and start again. The flag lies on b3. From here on orders are secret."
            ),
            shows=(CommonEvent.SHOT, CommonEvent.SHOT, OutbufferedEvent.FLAG_DROPPED),
        ),
    ),
)

# Effect of each order in a few words. `companion/games/help.py` looks it up by the English label of
# the order's key (`board.ORDERS`).
HELP = {
    "shoot": say("hits your row and column"),
    "up": say("one step away from you"),
    "wait": say("you stay"),
    "left": say("one step to your left"),
    "down": say("one step towards you"),
    "right": say("one step to your right"),
}
