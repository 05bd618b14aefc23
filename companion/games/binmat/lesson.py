"""The guided first game of BINMAT: lay a card, stack cards, declare combat.

`companion/games/lesson.py` explains the fields, and `actions.py` the notation of the orders.
"""

from companion.core.i18n import say
from companion.games.binmat.events import ATTACKER, DEFENDER, ROLES, BinmatEvent, declaration_text
from companion.games.lesson import Lesson, LessonStep

_LAY = say("Lay")
_STACK = say("Stack")
_COMBAT = say("Combat")

LESSON = Lesson(
    goal=say("The attacker breaks through a lane. The defender holds all six."),
    # The attacker, an attack, and the defender who is hit.
    picture=(
        (("diamond", "crimson"),),
        (("blade", "plain"),),
        (("disc", "ice"), ("burst", "plain")),
    ),
    # The hands of the defender and of the attacker.
    options={"way": "full", "hands": (("5+", "7!", "2^"), ("4&", "4%", "3#"))},
    steps=(
        LessonStep(
            _LAY,
            {DEFENDER: "p5+2"},
            head=say("{role!c} guards lane 2.", role=ROLES[DEFENDER]),
            why=say("A card face down may be a wall, or nothing at all."),
            tasks={DEFENDER: say("Tap your 5, then lane 2: it lies face down.")},
            after=say("Nobody else knows what lies there."),
            shows=(BinmatEvent.PLAY_DOWN,),
        ),
        LessonStep(
            _LAY,
            {ATTACKER: "p4&2"},
            head=say("{role!c} lays a 4 in lane 2.", role=ROLES[ATTACKER]),
            why=say("A sum of 2, 4, 8, 16 … is strong. Every other sum is worth nothing."),
            tasks={ATTACKER: say("Tap the first 4, then lane 2. Two of them will make 8.")},
            after=say("Both have a card in lane 2."),
            shows=(BinmatEvent.PLAY_DOWN,),
        ),
        LessonStep(
            _STACK,
            {DEFENDER: "d3"},
            head=say("{role!c} draws from lane {lane}.", role=ROLES[DEFENDER], lane=3),
            why=say("Decks 3, 4 and 5 lie open: everybody sees what is drawn there."),
            tasks={DEFENDER: say("Draw, then lane 3. Its top card lies open.")},
            after=say("{role!c} has one more card.", role=ROLES[DEFENDER]),
            shows=(BinmatEvent.DRAW,),
        ),
        LessonStep(
            _STACK,
            {ATTACKER: "p4%2"},
            head=say("{role!c} stacks a second 4.", role=ROLES[ATTACKER]),
            why=say("4 and 4 make 8, the third power of two: power 3."),
            tasks={ATTACKER: say("Put the other 4 on lane 2: 8 in all, power 3.")},
            after=say("Two cards face down. What could they be?"),
            shows=(BinmatEvent.PLAY_DOWN,),
        ),
        LessonStep(
            _COMBAT,
            {DEFENDER: "d4"},
            head=say("{role!c} draws from lane {lane}.", role=ROLES[DEFENDER], lane=4),
            why=say("Every turn is one action. This one might have gone into lane 2."),
            tasks={
                DEFENDER: say("Draw, then lane 4. In a real game you might guard lane 2 better.")
            },
            after=say("{role!c} is next.", role=ROLES[ATTACKER]),
            shows=(BinmatEvent.DRAW,),
        ),
        LessonStep(
            _COMBAT,
            {ATTACKER: "c2"},
            head=declaration_text(ROLES[ATTACKER], 2),
            why=say("Both stacks are turned up. 8 has power 3, 5 has none."),
            tasks={ATTACKER: say("Combat, then lane 2: both stacks are turned up.")},
            after=say(
                "Four damage: the 5 is gone. {role!c} draws three. Now it is a real game.",
                role=ROLES[ATTACKER],
            ),
            shows=(BinmatEvent.COMBAT, BinmatEvent.DAMAGE),
        ),
    ),
)

# Effect of each order in a few words. `companion/games/help.py` looks it up by the English label of
# the order's key (`screen.py`).
HELP = {
    "Play face down": say("a card onto a lane"),
    "Face up": say("a card that everybody sees"),
    "Draw": say("the top card of a lane"),
    "Attacker deck": say("draw from your own pile"),
    "Combat": say("both stacks are turned up"),
    "Discard": say("a card you do not want"),
    "Pass": say("nothing; the turn is over"),
}
