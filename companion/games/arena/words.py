"""Options and rules of Robot Arena in words.

The texts retell the rulebook, and the rulings on what it leaves open.
"""

from companion.core.i18n import say, say_n
from companion.core.kit import SEATS
from companion.games.aids import AidPoint, AidRow, Extras, PlayerAid
from companion.games.arena.board import STANDARD_MAP, WALLS_MAP
from companion.games.arena.state import ArenaOptions
from companion.games.base import Example, OptionRow, Rule, figures


def robots_text(count: int) -> str:
    """Return a number of robots in words.

    >>> robots_text(1), robots_text(3)
    ('1 robot', '3 robots')
    """
    return say_n("{n} robot", "{n} robots", count)


def points_text(count: int) -> str:
    """Return a number of hit points in words."""
    return say_n("{n} point", "{n} points", count)


OPTION_ROWS = (
    OptionRow(
        "board",
        say("Arena"),
        say(
            "Nine by nine squares, the same with walls, or your own map, at most "
            "12\u00a0x\u00a012: "
            "a dot is a free square, # a wall, s and n starts, S and N spawn points."
        ),
        ((say("9 x 9"), STANDARD_MAP), (say("Walls"), WALLS_MAP)),
        free_text=True,
    ),
    OptionRow(
        "turns",
        say("Turns"),
        say("After the last turn robots are counted, then hit points."),
        figures(30, 15, 60),
    ),
    OptionRow(
        "hit_points",
        say("Hit points"),
        say("What every robot starts with."),
        figures(30, 20, 45),
        house_rule=True,
    ),
    OptionRow(
        "spawn_every",
        say("New robots"),
        say(
            "How often spawn points bring new robots: in every turn whose number is divisible by "
            "this."
        ),
        (
            (say("Every 5th turn"), 5),
            (say("Every 3rd turn"), 3),
            (say("Every 10th turn"), 10),
            (say("Never"), 0),
        ),
        house_rule=True,
    ),
    OptionRow(
        "max_robots",
        say("Robots per side"),
        say("The most a side may have on the board at once. A board may not have more starts."),
        figures(8, 6, 4),
        house_rule=True,
    ),
    OptionRow(
        "attack",
        say("Damage to an enemy"),
        say("Hit points that an attack takes from an enemy robot."),
        figures(12, 8, 16),
        house_rule=True,
    ),
    OptionRow(
        "friendly",
        say("Damage to a friend"),
        say("Hit points that an attack takes from a robot of its own side."),
        figures(8, 0, 12),
        house_rule=True,
    ),
    OptionRow(
        "blast",
        say("Damage from a self-destruct"),
        say("Hit points that it takes from each of the eight neighbours."),
        figures(6, 9, 12),
        house_rule=True,
    ),
)
# Two robots face to face.
_DUEL_MAP = "...\nn..\ns.."

# The rules in words. Their numbers are those of the standard options: 30 turns, 30 hit points,
# damage of 12, 8 and 6, new robots every fifth turn, up to eight a side. The player aid
# (`build_extras`) has the numbers of the chosen options.
RULES = (
    Rule(
        "setting-up",
        say("Setting up"),
        say(
            "The player below rank 1 is petrol. Put your robots on your starts, robot 1 on the one "
            "nearest to file a, and so on: petrol on b1, e1 and h1, coral on b9, e9 and h9. Keep "
            "the other robots beside the board. Every robot starts with 30 hit points. The four "
            "brackets are spawn points."
        ),
    ),
    Rule(
        "orders",
        say("Orders"),
        say(
            "Each turn both players give orders to their robots in secret, one to each: move or "
            "attack north, east, south or west, defend, self-destruct, or nothing. Directions are "
            "those of the board for both: north is towards the highest rank. A robot without an "
            "order does nothing. Only robots on the board can be given orders. If an order turns "
            "out to be impossible, the robot does nothing. When both are done, all orders are "
            "revealed and carried out together."
        ),
    ),
    Rule(
        "order",
        say("Order of a turn"),
        say(
            "First, robots that defend take shelter. Then self-destructs are armed. Then all "
            "robots move. In a spawning turn, new robots appear next. Then come all attacks, and "
            "last all self-destructs. Within a part everything happens at once."
        ),
    ),
    Rule(
        "defending",
        say("Defending"),
        say(
            "A robot that defends stays where it is, behind a shield, for the whole turn. It takes "
            "half of every "
            "single hit, rounded down, from attacks and from self-destructs, of either side."
        ),
        Example(("1:aN | 1:D",), {"board": _DUEL_MAP}, stage=1),
    ),
    Rule(
        "self-destruct",
        say("Self-destruct"),
        say(
            "A robot that is told to self-destruct stays where it is and blows up at the end of "
            "the turn, whatever happens to it before. Every robot on the eight squares around it "
            "loses 6 points, friend or enemy. Walls do not shield. The robot itself ends with 0."
        ),
        Example(("1:X | 1:- 2:-",), {"board": "..n\n.s.\nn.."}, stage=1),
    ),
    Rule(
        "moving",
        say("Moving"),
        say(
            "A robot moves one square. All moves are made at once, so robots can follow each "
            "other, change places or go round in a ring."
        ),
        Example(("1:E 2:E | 1:W 2:W",), {"board": ".nn\n...\nss."}),
    ),
    Rule(
        "bounce",
        say("Moves that fail"),
        say(
            "A move fails when it leads off the board or into a wall, when two or more robots try "
            "for the same square (all of them fail), or when a robot stands there that does not "
            "leave in this turn, for whatever reason. A robot that fails stays where it is, "
            "without a shield, and so can make the next one fail."
        ),
        Example(("1:E 2:W | 1:-",), {"board": ".n.\n...\ns.s"}),
    ),
    Rule(
        "spawning",
        say("New robots"),
        say(
            "Every fifth turn is a spawning turn, the last turn included. After the moves every "
            "spawn point that is free brings a robot of its side, with the lowest number that is "
            "free, up to eight robots a side. Robots that are armed still count. A spawn point on "
            "which any robot stands brings none. A new robot has no order in that turn but can be "
            "hit."
        ),
    ),
    Rule(
        "attacking",
        say("Attacking"),
        say(
            "An attack hits the one square next to the robot in its direction, as robots stand "
            "after the moves: so aim where the other robot will be. An enemy loses 12 points, a "
            "friend 8. On an empty square, a wall or beyond the edge it hits nothing."
        ),
        Example(("1:aN | 1:-",), {"board": _DUEL_MAP}),
    ),
    Rule(
        "leaving",
        say("Leaving the board"),
        say(
            "Robots with 0 points or less leave the board at the end of the turn, all together. "
            "Until then they do what they were told."
        ),
    ),
    Rule(
        "winning",
        say("Winning"),
        say(
            "A side that has no robot after a turn loses, even if the next turn would bring new "
            "ones. If both sides have none, it is a draw. After turn 30 the side with more robots "
            "wins, then the one with more hit points in all. If these are equal too, it is a draw."
        ),
    ),
    Rule(
        "tips",
        say("Tips"),
        say(
            "Think about where everybody will be after the moves: a step aside dodges an attack. "
            "Defend when you can hardly escape a hit, or to hold a square. Self-destruct when the "
            "robot is as good as lost and several enemies stand around it: the blast hits them "
            "all."
        ),
    ),
    Rule(
        "notation",
        say("Notation"),
        say(
            "Receipts and game files use the same letters in every language: N, E, S or W moves a "
            "robot north, east, south or west, with an a in front it attacks that way. D defends, "
            "X self-destructs. 1:N 2:aE 3:D are the orders of three robots. The keys show the "
            "letters of your own language."
        ),
    ),
)


def build_extras(options: ArenaOptions) -> Extras:
    """Return the player aid with the numbers of these options, the same for both seats."""
    rows = (
        AidRow(say("Move"), say("one square"), drawing="order-up"),
        AidRow(
            say("Attack"),
            say(
                "{enemy} from an enemy, {friend} from a friend",
                enemy=options.attack,
                friend=options.friendly,
            ),
            drawing="blade",
        ),
        AidRow(say("Defend"), say("halves every hit"), drawing="shield"),
        AidRow(
            say("Self-destruct"),
            say("{points} from all eight around", points=options.blast),
            drawing="burst",
        ),
        AidRow(say("Nothing"), say("stays where it is"), drawing="order-idle"),
    )
    spawning = AidPoint(
        say_n("New robots every turn", "New robots every {n} turns", options.spawn_every),
        say(
            "One on each free spawn point, after the moves, up to {most} robots a side.",
            most=options.max_robots,
        ),
    )
    points = (
        AidPoint(
            say("One order for each robot, in secret"),
            say("North is up the ranks, for both of you. No order: it does nothing."),
        ),
        AidPoint(
            say("In each turn"),
            say("Shields, moves, new robots, attacks, blasts. Each of these all at once."),
        ),
        AidPoint(
            say("Aim where they will be"),
            say("An attack hits the square next to your robot after all moves, friend or enemy."),
        ),
        AidPoint(
            say("A move fails"),
            say(
                "at the edge and at walls, when two want one square, and when that square stays "
                "taken."
            ),
        ),
        *((spawning,) if options.spawn_every else ()),
        AidPoint(
            say("{points} hit points each", points=options.hit_points),
            say("At 0 a robot leaves at the end of the turn. What it was told still happens."),
        ),
    )
    goal = say("Knock them all out, or have more robots after turn {turns}.", turns=options.turns)
    return Extras(dict.fromkeys(SEATS, PlayerAid(goal, say("Orders"), rows, points)))
