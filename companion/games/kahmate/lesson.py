"""The guided first game of Kahmate: run, pass, tackle."""

from companion.core.i18n import say
from companion.core.kit import Seat
from companion.games.kahmate.events import KahmateEvent
from companion.games.lesson import Lesson, LessonStep

SOUTH = Seat.SOUTH
NORTH = Seat.NORTH
_PASS = say("Pass")
_TACKLE = say("Tackle")

LESSON = Lesson(
    goal=say("Run the ball over their line."),
    picture=(
        (("disc", "blue"),),
        (("disc", "blue"), ("ball", "plain")),
        (("spawn-n", "pink"), ("ball", "plain")),
    ),
    options={"start": "e5 c4 d3 b3 f3 d2 / c8 g8 e6 d8 b9 d10 / f3", "starter": "south"},
    steps=(
        LessonStep(
            say("Run"),
            {SOUTH: "f3-f4-f5-f6"},
            say("Blue’s fast piece runs f3 to f6."),
            say("Two pieces may run in a turn. Fast goes four squares, big only two."),
            {SOUTH: say("Fast has the ball. Tap it, then where it goes: f6.")},
            say("A runner takes the ball along."),
            (KahmateEvent.RUN,),
        ),
        LessonStep(
            _PASS,
            {SOUTH: "f6*e5"},
            say("Blue passes back, f6 to e5."),
            say("As in rugby, a pass goes back. Only a kick goes forward."),
            {SOUTH: say("Tap f6, then e5: a pass always goes back.")},
            say("The ball is on e5, and pink’s big one stands beside it."),
            (KahmateEvent.PASS,),
        ),
        LessonStep(
            _PASS,
            {SOUTH: "."},
            say("Blue ends the turn."),
            say("You may run, pass and kick as long as you can. Then you end the turn."),
            {SOUTH: say("End the turn: now pink may do something about it.")},
            say("Pink’s turn."),
            (KahmateEvent.ROUND_END,),
        ),
        LessonStep(
            _TACKLE,
            {NORTH: "e6xe5"},
            say("Pink’s big piece tackles on e5."),
            say("A tackle asks both for a secret card."),
            {NORTH: say("Tap e6, then e5: your big one goes for the ball.")},
            say("Strength and card decide."),
            (KahmateEvent.TACKLE,),
        ),
        LessonStep(
            _TACKLE,
            {SOUTH: "2", NORTH: "5"},
            say("Both choose a card in secret."),
            say("Card and strength count. More than 2 ahead takes the ball."),
            {
                SOUTH: say("Spend a low card: 2. The high ones come in handy later."),
                NORTH: say("Big adds 2 to your card. Play 5: that makes 7."),
            },
            say("7 against 2: pink has the ball. From here on cards are secret."),
            (KahmateEvent.FACE_OFF, KahmateEvent.TURNED_OVER),
        ),
    ),
)

HELP = {
    "Place": say("on your own two ranks"),
    "Run": say("two pieces a turn"),
    "Pass": say("back, to a team-mate"),
    "Kick": say("ahead, up to three ranks"),
    "Tackle": say("cards decide; ends the turn"),
    "End turn": say("the other side’s turn"),
    "A card": say("adds to your strength"),
}
"""Effect of each order, by its English word."""
