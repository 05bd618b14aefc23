"""The guided first game of Scouts: jump, flip, carry.

`companion/games/lesson.py` explains the fields, and `state.py` the notation of the orders.
"""

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.lesson import Lesson, LessonStep
from companion.games.scouts.board import ScoutsEvent

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
_JUMP = say("Jump")
_FLIP = say("Flip")
_CARRY = say("Carry")
_CLOCK = say("End your turn. If a clock is running, press it.")

LESSON = Lesson(
    goal=say("Cross the board, gather intel, carry it home."),
    # A scout of white, the same scout turned over because it has intel, and its way home.
    picture=(
        (("scout-s", "white"),),
        (("scout-s2", "white"),),
        (("spawn-s", "plain"), ("scout-s2", "white")),
    ),
    # The squares of white's five scouts, then of black's.
    options={"start": "c6 e2 f1 g1 h1 / c7 c9 e3 g10 h10"},
    steps=(
        LessonStep(
            _JUMP,
            {SOUTH: "c6^c8^c10"},
            head=say("White jumps c6 to c8 to c10."),
            why=say(
                "A scout jumps over the one beside it, friend or not, and may jump on at once."
            ),
            tasks={SOUTH: say("Jump over both black scouts in one move: from c6 to c10.")},
            after=say("Two jumps, one move. On the far rank a scout turns over: it has intel."),
            shows=(ScoutsEvent.JUMP, ScoutsEvent.INTEL),
        ),
        LessonStep(
            _JUMP,
            {SOUTH: "."},
            head=say("White ends the turn."),
            why=say("White’s first turn has one move, every other turn two."),
            tasks={SOUTH: _CLOCK},
            after=say("It is Black’s turn."),
            shows=(ScoutsEvent.ENDED,),
        ),
        LessonStep(
            _FLIP,
            {NORTH: "e3^e1"},
            head=say("Black jumps e3 to e1 and turns over."),
            why=say("Nobody is taken in this game: scouts are there to be jumped over."),
            tasks={NORTH: say("Jump over white’s scout on e2 to e1: yours gathers intel there.")},
            after=say("Both have intel now. The first to carry it home wins."),
            shows=(ScoutsEvent.JUMP, ScoutsEvent.INTEL),
        ),
        LessonStep(
            _FLIP,
            {NORTH: "h10-h9"},
            head=say("Black dashes h10 to h9."),
            why=say("A dash is one step in any direction. The second move is another scout’s."),
            tasks={NORTH: say("The second move is another scout’s: dash one step, h10 to h9.")},
            after=say("Both moves are made."),
            shows=(ScoutsEvent.DASH,),
        ),
        LessonStep(
            _FLIP,
            {NORTH: "."},
            head=say("Black ends the turn."),
            why=say("If a clock is running, this is when you press it."),
            tasks={NORTH: _CLOCK},
            after=say("It is White’s turn."),
            shows=(ScoutsEvent.ENDED,),
        ),
        LessonStep(
            _CARRY,
            {SOUTH: "c10^c8^c6"},
            head=say("White carries the intel back to c6."),
            why=say("The way back is the same ladder: both sides can climb it."),
            tasks={SOUTH: say("Take the same way back: c10, c8, c6.")},
            after=say("Almost half the way home in one move."),
            shows=(ScoutsEvent.JUMP,),
        ),
        LessonStep(
            _CARRY,
            {SOUTH: "g1-g2"},
            head=say("White dashes g1 to g2."),
            why=say(
                "Rocks block the way. Each side has two, and may lay them in any of its turns."
            ),
            tasks={SOUTH: say("Another scout makes the second move: dash g1 to g2.")},
            after=say("Both moves are made."),
            shows=(ScoutsEvent.DASH,),
        ),
        LessonStep(
            _CARRY,
            {SOUTH: "."},
            head=say("White ends the turn."),
            why=say("From here on you are on your own: bring the intel home."),
            tasks={SOUTH: _CLOCK},
            after=say("Now the game is yours: bring the intel home."),
            shows=(ScoutsEvent.ENDED,),
        ),
    ),
)

# Effect of each order in a few words. `companion/games/help.py` looks it up by the English word
# that it shows for the order: the word of the command (`Scouts.commands`), the label of the key, or
# “Place” for a placing.
HELP = {
    "Place": say("on your own home rank"),
    "Dash": say("one step in any direction"),
    "Jump": say("over a scout beside you"),
    "Boulder": say("blocks four squares for good"),
    "Rock": say("blocks two squares for good"),
    "Press your clock": say("the other side’s turn"),
    "End turn": say("the other side’s turn"),
}
