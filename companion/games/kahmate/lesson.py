"""The guided first game of Kahmate: run, pass, tackle.

`companion/games/lesson.py` explains the fields, and `actions.py` the notation of the orders.
"""

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.kahmate.board import KahmateEvent
from companion.games.lesson import Lesson, LessonStep

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
_PASS = say("Pass")
_TACKLE = say("Tackle")

LESSON = Lesson(
    goal=say("Run the ball over their line."),
    # A runner of blue, the runner with the ball, and the ball in pink's goal.
    picture=(
        (("disc", "blue"),),
        (("disc", "blue"), ("ball", "plain")),
        (("spawn-n", "pink"), ("ball", "plain")),
    ),
    # Squares of blue's pieces in the order regular, regular, big, tough, fast, smart, then those of
    # pink's pieces in the same order, then that of the ball, which blue's fast piece has.
    options={"start": "e5 c4 d3 b3 f3 d2 / c8 g8 e6 d8 b9 d10 / f3", "starter": "south"},
    steps=(
        LessonStep(
            say("Run"),
            {SOUTH: "f3-f4-f5-f6"},
            head=say("Blue’s fast piece runs f3 to f6."),
            why=say("Two pieces may run in a turn. Fast goes four squares, big only two."),
            tasks={SOUTH: say("Fast has the ball. Tap it, then where it goes: f6.")},
            after=say("A runner takes the ball along."),
            shows=(KahmateEvent.RUN,),
        ),
        LessonStep(
            _PASS,
            {SOUTH: "f6*e5"},
            head=say("Blue passes back, f6 to e5."),
            why=say("As in rugby, a pass goes back. Only a kick goes forward."),
            tasks={SOUTH: say("Tap f6, then e5: a pass always goes back.")},
            after=say("The ball is on e5, and pink’s big one stands beside it."),
            shows=(KahmateEvent.PASS,),
        ),
        LessonStep(
            _PASS,
            {SOUTH: "."},
            head=say("Blue ends the turn."),
            why=say("You may run, pass and kick as long as you can. Then you end the turn."),
            tasks={SOUTH: say("End the turn: now pink may do something about it.")},
            after=say("Pink’s turn."),
            shows=(KahmateEvent.ROUND_END,),
        ),
        LessonStep(
            _TACKLE,
            {NORTH: "e6xe5"},
            head=say("Pink’s big piece tackles on e5."),
            why=say("A tackle asks both for a secret card."),
            tasks={NORTH: say("Tap e6, then e5: your big one goes for the ball.")},
            after=say("Strength and card decide."),
            shows=(KahmateEvent.TACKLE,),
        ),
        LessonStep(
            _TACKLE,
            {SOUTH: "2", NORTH: "5"},
            head=say("Both choose a card in secret."),
            why=say("Card and strength count. More than 2 ahead takes the ball."),
            tasks={
                SOUTH: say("Spend a low card: 2. The high ones come in handy later."),
                NORTH: say("Big adds 2 to your card. Play 5: that makes 7."),
            },
            after=say("7 against 2: pink has the ball. From here on cards are secret."),
            shows=(KahmateEvent.FACE_OFF, KahmateEvent.TURNED_OVER),
        ),
    ),
)

# Effect of each order in a few words. `companion/games/help.py` looks it up by the English word
# that it shows for the order: the word of the command (`Kahmate.commands`), the label of the key,
# “Place” for a placing, or “A card” in a face-off.
HELP = {
    "Place": say("on your own two ranks"),
    "Run": say("two pieces a turn"),
    "Pass": say("back, to a team-mate"),
    "Kick": say("ahead, up to three ranks"),
    "Tackle": say("cards decide; ends the turn"),
    "End turn": say("the other side’s turn"),
    "A card": say("adds to your strength"),
}
