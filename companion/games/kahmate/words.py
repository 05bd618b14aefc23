"""Options and rules of Kahmate in words for people.

The texts retell the rulebook, and the rulings on what it leaves open.
"""

from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.games.aids import AidPoint, AidRow, Extras, PlayerAid
from companion.games.base import Example, OptionRow, Rule, figures
from companion.games.kahmate.board import PIECE_NAMES, ROLES, TEAM_SIZE
from companion.games.kahmate.state import FULL_HAND

OPTION_ROWS = (
    OptionRow(
        "ball_card",
        say("Ball’s card"),
        say(
            "Puts the ball on rank 6: card 1 on b6, 2 on c6, up to 6 on g6. Drawn: when both have "
            "placed."
        ),
        ((say("Drawn"), None), *figures(1, 2, 3, 4, 5, 6)),
    ),
    OptionRow(
        "starter",
        say("Who begins"),
        say("Drawn when both have placed, or always the same side."),
        ((say("Drawn"), None), (say("Blue"), "south"), (say("Pink"), "north")),
    ),
    OptionRow(
        "round_limit",
        say("Turn limit"),
        say("Without a try in this many turns, both sides’ counted together, the game is a draw."),
        ((say("None"), 0), *figures(20, 40, 60)),
    ),
    OptionRow(
        "quiet_limit",
        say("Quiet turns"),
        say("The game is a draw after this many turns in a row without a face-off."),
        ((say("No limit"), 0), *figures(6, 10, 20)),
    ),
)
# Actions and options of the examples.
_PLACINGS = "R@a1 R@d2 B@c2 T@e2 F@b2 S@f2 | R@a10 R@d10 B@c10 T@e10 F@b10 S@f10"
_BALL_PICKED_UP = (_PLACINGS, "b2-b3-b4-b5-b6")
_BALL_ON_B6 = {"ball_card": 1, "starter": "south"}
RULES = (
    Rule(
        "setting-up",
        say("Setting up"),
        say(
            "The board has 8 files and 11 ranks, and an in-goal strip behind each end. South is "
            "blue and plays towards rank 11, North is pink and plays towards rank 1. Each side has "
            "six pieces. Both place them at the same time, hidden from each other, one to a square "
            "on their own two ranks: blue on 1 and 2, pink on 10 and 11. Then one strength card is "
            "drawn for the ball: card 1 puts it on b6, 2 on c6, 3 on d6, 4 on e6, 5 on f6, 6 on "
            "g6. That card belongs to no hand. Who begins is drawn too."
        ),
    ),
    Rule(
        "pieces",
        say("Pieces"),
        say(
            "Each piece has a speed, an attack and a defence. Two regular: 3, 0, 0. Big: 2, 2, 1. "
            "Tough: 3, 1, 0. Fast: 4, −1, −1. Smart: 3, 0, 1."
        ),
    ),
    Rule(
        "round",
        say("A turn"),
        say(
            "The sides take turns, a turn each. In a turn up to two different pieces run, each "
            "once and in one go. Before, between and after the runs you pass and kick as often as "
            "you like. A tackle ends the turn. Otherwise you end it yourself. Doing nothing is "
            "allowed. Ahead is the direction in which you play, behind the other one."
        ),
    ),
    Rule(
        "running",
        say("Running"),
        say(
            "A run takes as many steps as the piece’s speed allows, along file or rank, never "
            "diagonally. Its whole path is announced at once. It may cross itself and end where it "
            "began. It goes freely through team-mates and pieces that are turned over, but stops "
            "on neither."
        ),
        Example(_BALL_PICKED_UP, _BALL_ON_B6, files=6, ranks=7),
    ),
    Rule(
        "in-the-way",
        say("Opponents in the way"),
        say(
            "A runner that steps onto a standing opponent meets it in a face-off at once, the "
            "runner’s attack against the opponent’s defence. The runner’s speed must carry it at "
            "least one square beyond. If the runner wins, the opponent is turned over and the run "
            "goes on. If it loses, the run is over, but the turn is not: the runner is turned over "
            "on the last free square of its path before the opponent, and the ball, if it had it, "
            "goes one square behind it. Nobody runs onto a standing opponent that has the ball: it "
            "has to be tackled."
        ),
    ),
    Rule(
        "loose-ball",
        say("The ball"),
        say(
            "A runner that enters the square of a loose ball has it from then on. A ball that "
            "reaches the square of a standing piece belongs to that piece, whichever side it is "
            "on. On the square of a piece that is turned over it lies loose: the piece has it when "
            "it stands up, unless somebody fetches it first. A ball that would go behind rank 1 or "
            "11 stays on the nearest square of the board."
        ),
    ),
    Rule(
        "pass",
        say("Passing"),
        say(
            "The carrier passes to a standing team-mate 1 or 2 ranks back and at most 2 files "
            "sideways, as often as you like."
        ),
        Example(
            (_PLACINGS, "d2-d3-d4-d5", "b2-b3-b4-b5-b6", "b6*d5"), _BALL_ON_B6, files=6, ranks=7
        ),
    ),
    Rule(
        "intercept",
        say("Intercepting"),
        say(
            "Standing opponents on squares through which the straight line of a pass goes, from "
            "centre to centre, intercept it. Touching a corner does not count. The nearest to the "
            "passer comes first: a face-off of the passer’s attack against the opponent’s defence. "
            "If the passer loses, that opponent has the ball and the turn goes on. If the passer "
            "wins, the next opponent follows, until the pass arrives. Nobody is turned over."
        ),
    ),
    Rule(
        "kick",
        say("Kicking"),
        say(
            "The carrier kicks the ball 1 to 3 ranks ahead and at most 3 files sideways, on the "
            "board, not into goal. No team-mate, turned over or not, may be on a rank ahead of the "
            "kicker. Nobody intercepts a kick. A standing piece on the target square gets the "
            "ball, even an opponent. Otherwise the ball lies there."
        ),
        Example((*_BALL_PICKED_UP, "b6!c8"), _BALL_ON_B6, files=6, ranks=9),
    ),
    Rule(
        "tackle",
        say("Tackling"),
        say(
            "Only the carrier of the other side is tackled, by one or two pieces that have not run "
            "in this turn. Each needs enough speed to reach the carrier’s square. Its path may "
            "cross team-mates and pieces that are turned over, but no standing opponents. Every "
            "tackler uses up one of the turn’s two runs. Two tacklers add their attack strengths. "
            "The sum meets the carrier’s defence in a face-off. Then the tacklers are back where "
            "they began, and the turn is over. If the carrier wins, it keeps the ball and the "
            "tacklers are turned over. If the tacklers win, the carrier is turned over."
        ),
    ),
    Rule(
        "tackled-ball",
        say("The ball after a tackle"),
        say(
            "When the attack’s total is more than 2 ahead, the tackler (the first one named) has "
            "the ball. Otherwise it goes one square behind the carrier. On the carrier’s own goal "
            "line it goes beside the carrier, on the side away from the first tackler; if that "
            "tackler came from straight ahead, towards the middle of the line; if that would be "
            "off the board, to the other side."
        ),
        Example(
            (*_BALL_PICKED_UP, ".", "b10-b9-b8-b7xb6", "1 | 6"),
            _BALL_ON_B6,
            stage=2,
            files=6,
            caption=say(
                "5 against 0 is more than 2 ahead: pink has the ball, blue is turned over."
            ),
        ),
    ),
    Rule(
        "face-off",
        say("Face-off"),
        say(
            "Each side has six cards, 1 to 6. Everybody sees which have been used. Both choose one "
            "in secret and reveal it together. Card and strength are added, and the higher total "
            "wins. If the totals are equal, both choose again. Cards that were played are used up. "
            "A hand is refilled with 1 to 6 as soon as it is empty."
        ),
    ),
    Rule(
        "turned-over",
        say("Turned over"),
        say(
            "A piece that is turned over sits out the next turn of its side and stands up at the "
            "end of it. Until then it cannot run, receive, intercept, tackle or cause a face-off."
        ),
    ),
    Rule(
        "try",
        say("Winning"),
        say(
            "Whoever runs over the far end with the ball scores a try and wins. The step into goal "
            "costs one step of the run, from rank 11 for blue and from rank 1 for pink, and the "
            "runner must have the ball by then."
        ),
    ),
    Rule(
        "limits",
        say("Limits"),
        say(
            "There is no limit of turns unless you agree on one before the game. Then it is a draw "
            "when the last turn is over without a try, or after the agreed number of turns in a "
            "row without a face-off. The turns of both sides are counted together."
        ),
    ),
)

_POINTS = (
    AidPoint(
        say("Run with one or two players"),
        say(
            "Straight steps only. A rival in the way: face-off. Win and run on. Lose, lie down and "
            "drop the ball."
        ),
    ),
    AidPoint(
        say("Pass as often as you like"),
        say(
            "One or two squares back, up to two sideways. A rival in between: face-off. Lose it "
            "and the ball is theirs."
        ),
    ),
    AidPoint(
        say("Kick when none of yours is ahead"),
        say("One to three squares ahead, up to three sideways. Nobody can intercept it."),
    ),
    AidPoint(
        say("Tackle: it ends your turn"),
        say(
            "One or two tacklers, then they go back. Win by more than two and the ball is yours; "
            "by less, it drops."
        ),
    ),
    AidPoint(
        say("Face-off"),
        say(
            "Each adds one secret card. The higher total wins. Equal totals are played again. All "
            "six spent: you get them back."
        ),
    ),
)
_TWICE = say("two of them")


def _player_aid(seat: int) -> PlayerAid:
    """Return the player aid of a seat (0 South, 1 North). The two differ only in their pieces."""
    rows = []
    for index, role in enumerate(ROLES):
        # The two regulars share one row.
        if role in ROLES[:index]:
            continue
        strengths = tuple(f"{value:+d}" if value else "0" for value in (role.attack, role.defence))
        words = _TWICE if ROLES.count(role) > 1 else ""
        face = PIECE_NAMES[seat * TEAM_SIZE + index]
        rows.append(AidRow(role.name, words, (str(role.speed), *strengths), face=face))
    heads = (say("squares"), say("attack"), say("defence"))
    return PlayerAid(
        say("Carry the ball over the far line."), say("Players"), tuple(rows), _POINTS, heads
    )


EXTRAS = Extras(
    {seat: _player_aid(number) for number, seat in enumerate(SEATS)},
    hand_cards=tuple(map(str, FULL_HAND)),
)
