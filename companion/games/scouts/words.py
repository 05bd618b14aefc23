"""Options and rules of Scouts in words for people.

The texts retell the rulebook, and the rulings on what it leaves open.
"""

from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.games.aids import AidPoint, AidRow, Extras, PlayerAid
from companion.games.base import Example, OptionRow, Rule
from companion.games.scouts.board import ROCK_FACES, SCOUT_FACES

OPTION_ROWS = (
    OptionRow(
        "seconds",
        say("Clock"),
        say("Each side’s time for the whole game. A side with none left loses."),
        (
            *((say("{minutes} min", minutes=number), 60 * number) for number in (10, 3, 5, 15, 30)),
            (say("None"), 0),
        ),
    ),
    OptionRow(
        "increment",
        say("Increment"),
        say("What a side gets back for each turn it ends."),
        (
            (say("None"), 0),
            *((say("{seconds} s", seconds=number), number) for number in (2, 5, 10, 30)),
        ),
    ),
    OptionRow(
        "stacking",
        say("Stacks"),
        say("On: a dash may end on one other scout. Off: a dash needs an empty square."),
        ((say("On"), "on"), (say("Off"), "off")),
        house_rule=True,
    ),
)
# Actions of a set-up, with which the examples begin.
_PLACINGS = ("@b1", "@b10", "@d1", "@d10", "@e1", "@e10", "@g1", "@g10", "@h1", "@h10")

RULES = (
    Rule(
        "goal",
        say("The aim"),
        say(
            "Nobody takes anything: five scouts of each side walk to the other side’s home rank, "
            "gather intel there and bring it back. White’s home rank is rank 1, black’s is rank "
            "10. White begins."
        ),
    ),
    Rule(
        "setting-up",
        say("Setting up"),
        say(
            "Each side has five scouts, a boulder and a rock. Boulders and rocks wait beside the "
            "board. White and black take turns to place one scout each, plain side up, on an empty "
            "square of their own home rank, until all ten stand."
        ),
    ),
    Rule(
        "turns",
        say("Turns and moves"),
        say(
            "A turn is two moves with two different scouts. White’s first turn is one move. A move "
            "is either one dash or any number of jumps of one scout. A move that is possible has "
            "to be made. If no scout can move that has not moved in this turn, the turn may end "
            "without it. The player ends the turn by pressing the clock."
        ),
    ),
    Rule(
        "dash",
        say("Dash"),
        say(
            "A scout goes to one of the eight squares around it. The square is free of rocks and "
            "empty, or holds one other scout (see stacks). A diagonal dash passes between any two "
            "things. A dash is the whole move: a scout cannot dash, then jump, nor jump, then "
            "dash."
        ),
        Example((*_PLACINGS, "d1-c2"), files=6, ranks=3),
    ),
    Rule(
        "jump",
        say("Jump"),
        say(
            "A scout jumps over exactly one scout of either side that stands next to it along the "
            "file or the rank, to the empty square right behind, never diagonally. After a jump "
            "the same scout may jump on, as often as there is something to jump over, or stop. It "
            "visits no square twice in a move, the one where it began included."
        ),
        Example((*_PLACINGS, "e1^c1^a1"), files=6, ranks=3),
    ),
    Rule(
        "stacks",
        say("Stacks"),
        say(
            "A dash may end on one other scout of either side: the two form a stack, never more. "
            "Only the upper one can be moved, and it can only dash. The lower one waits until it "
            "is uncovered. Nothing jumps over a stack, and no jump ends on a scout. By the house "
            "rule without stacks a dash needs an empty square."
        ),
        Example((*_PLACINGS, "d1-e1"), files=6, ranks=3),
    ),
    Rule(
        "rocks",
        say("Boulders and rocks"),
        say(
            "Each side may lay its boulder (two files by two ranks) and its rock (two squares side "
            "by side, either way) once in the game: at any moment of its own turn, before, between "
            "or after the moves, White’s first turn included, and it counts as no move. All "
            "squares covered are free of scouts and rocks, home ranks too may be covered, and no "
            "side touches another boulder or rock along a file or a rank. Corner to corner is "
            "fine. Nothing enters a boulder or a rock or jumps over it, and it stays where it is."
        ),
        Example((*_PLACINGS, "B@b2", "R@e2-e3"), files=6, ranks=4),
    ),
    Rule(
        "intel",
        say("Gathering intel"),
        say(
            "A scout that lands on the other side’s home rank for the first time is turned over: "
            "it has intel. That ends its move, even after a jump. Landing there on top of another "
            "scout counts. Being uncovered there does not. Any number of scouts may gather intel."
        ),
    ),
    Rule(
        "winning",
        say("Winning"),
        say("A scout with intel that lands on its own home rank wins the game at once."),
    ),
    Rule(
        "mistakes",
        say("Common mistakes"),
        say(
            "Nobody jumps diagonally, and nobody dashes and then jumps. The two moves of a turn "
            "belong to two different scouts. Turning a scout over ends its move. A scout can dash "
            "from stack to stack, but not jump. White’s first turn is one move. Press the clock "
            "when your turn is over."
        ),
    ),
    Rule(
        "clock",
        say("Clock"),
        say(
            "The clock starts when the set-up is complete and passes to the other side at the end "
            "of each turn. A side whose time runs out loses. With an increment a side gets some "
            "seconds back at the end of each of its turns."
        ),
    ),
    Rule(
        "notation",
        say("Notation"),
        say(
            "@c1 places a scout; c1-d2 is a dash; c1^c3^e3 are jumps of one move; B@d5 lays the "
            "boulder, d5 being its lowest square on the left; R@d5-e5 lays the rock on two "
            "squares, the lower file or rank first; a full stop ends the turn."
        ),
    ),
)

_POINTS = (
    AidPoint(
        say("Two moves a turn"),
        say(
            "with two different scouts. White’s very first turn is one move. Then press the clock."
        ),
    ),
    AidPoint(
        say("Dash"),
        say(
            "One square in any direction, also on top of one other scout. The lower one has to "
            "wait."
        ),
    ),
    AidPoint(
        say("Jump"),
        say(
            "Straight over a scout next to you, as often as you like in one move. Never over two, "
            "never over a rock."
        ),
    ),
    AidPoint(
        say("Boulder and rock"),
        say(
            "Lay each once, at any time in your turn, on squares without scouts. Rocks never touch "
            "side by side."
        ),
    ),
    AidPoint(
        say("Intel"),
        say(
            "Land on their home rank: turn the scout over. That ends its move. Land back on yours "
            "to win."
        ),
    ),
)


def _player_aid(seat: int) -> PlayerAid:
    """Return the player aid of a seat (0 South, 1 North). The two differ only in their pieces."""
    plain, with_intel = SCOUT_FACES[seat]
    boulder, rock = ROCK_FACES[2 * seat : 2 * seat + 2]
    return PlayerAid(
        say("Cross the board, turn over, come home."),
        say("Pieces"),
        (
            AidRow(say("Scout"), say("five of them"), face=plain),
            AidRow(say("Scout with intel"), say("bring it home"), face=with_intel),
            AidRow(say("Boulder"), say("two by two squares"), face=boulder),
            AidRow(say("Rock"), say("two squares"), face=rock),
        ),
        _POINTS,
    )


EXTRAS = Extras({seat: _player_aid(number) for number, seat in enumerate(SEATS)})
