"""Options and rules of Outbuffered in words for people.

The texts retell the rulebook's sections 1-3 and "What if".
"""

from companion.core.i18n import say
from companion.core.kit import SEATS
from companion.games.aids import AidPoint, AidRow, Extras, OrderTile, PlayerAid
from companion.games.base import Example, OptionRow, Rule, figures
from companion.games.outbuffered.board import ORDERS, STANDARD_MAP, TILE_LETTERS, WALLS_MAP

OPTION_ROWS = (
    OptionRow(
        "board",
        say("Board"),
        say(
            "Three files and four ranks, a larger one with walls, or your own map: a dot is a free "
            "tile, # a wall, s and n starts, S and N bases."
        ),
        (("3 x 4", STANDARD_MAP), (say("Walls"), WALLS_MAP)),
        free_text=True,
    ),
    OptionRow(
        "turn_limit",
        say("Turn limit"),
        say("When it is reached, the game is a draw."),
        ((say("None"), 0), *figures(20, 30, 50)),
    ),
    OptionRow(
        "quiet_limit",
        say("Quiet turns"),
        say(
            "The game is a draw after this many turns in a row without a flag taken or a robot hit."
        ),
        ((say("No limit"), 0), *figures(5, 10, 20)),
    ),
    OptionRow(
        "tiles",
        say("Order tiles"),
        say(
            "Camera: lay three tiles behind your wall and press ready. No phone is needed. "
            "Pictures then show only the board."
        ),
        ((say("No"), False), (say("Camera"), True)),
    ),
    OptionRow(
        "directions",
        say("Directions are seen from"),
        say("Seat: up is away from you. Board: up is towards the highest rank for both."),
        ((say("Seat"), "seat"), (say("Board"), "board")),
        house_rule=True,
    ),
    OptionRow(
        "own_flag_blocks_base",
        say("Own flag blocks the way home"),
        say("Yes: a robot with the other flag bounces off its own base while its flag lies there."),
        ((say("No"), False), (say("Yes"), True)),
        house_rule=True,
    ),
)
# Both starts on one rank.
_NARROW_MAP = "..N\ns.n\nS.."

RULES = (
    Rule(
        "setting-up",
        say("Setting up"),
        say(
            "Put your robot on your start tile (the corner brackets) and your flag on your base "
            "tile (South’s ring, North’s diamond). The player below rank 1 is purple."
        ),
    ),
    Rule(
        "commands",
        say("Orders"),
        say(
            "Each turn both players hand in a buffer of three orders in secret: up, down, left, "
            "right, wait (idle) or shoot. An order may repeat. Directions are seen from your own "
            "seat: up is away from you. Then the buffers are revealed, one pair of orders after "
            "the other."
        ),
        Example(
            ("URS | ULI",),
            caption=say(
                "Purple’s buffer: up, right, shoot. Lime’s: up, left, wait. The first pair moves "
                "both up, each away from its own seat."
            ),
        ),
    ),
    Rule(
        "bounce",
        say("Bouncing back"),
        say(
            "A robot bounces and stays where it is when its way leads off the board, into a wall, "
            "onto a tile where its own flag lies, onto the tile that the other robot tries for "
            "too, or onto the other robot when that does not leave in the same step. Changing "
            "places and following are fine. A robot that carries the other flag may enter its own "
            "base although its own flag lies there, unless the house rule says otherwise."
        ),
        Example(("RII | RII",), {"board": _NARROW_MAP}),
    ),
    Rule(
        "order",
        say("Order of a step"),
        say(
            "Both move at once. Then it is checked who has won. Then both shoot at once, and it is "
            "checked again. When somebody has won, the rest of the buffers is not carried out."
        ),
    ),
    Rule(
        "shots",
        say("Shots"),
        say(
            "A shot goes along the rank and the file in all four directions, over any distance, "
            "until a wall. A robot that is hit drops the flag that it carries and returns to its "
            "start tile. Its remaining orders go on from there."
        ),
        Example(("UII | UUI", "SII | III")),
    ),
    Rule(
        "flags",
        say("Flags"),
        say(
            "A robot that ends its move on the other side’s flag takes it at once. The flag lies "
            "under or on the robot and moves with it. A dropped flag stays where the robot was hit "
            "until it is taken again. A robot sent back to a start tile on which the other flag "
            "lies takes that flag as well."
        ),
        Example(("UUU | UII", "RII | III")),
    ),
    Rule(
        "winning",
        say("Winning"),
        say("Bring the other side’s flag to your own base tile."),
        Example(("UUU | UII", "RDD | III", "DII | III")),
    ),
    Rule(
        "ties",
        say("Draws"),
        say(
            "It is a draw when both flags come home in the same step, when the turn limit is "
            "reached, or when too many turns in a row pass without a flag taken or a robot hit. A "
            "draw is played again from the beginning. The match keeps the count."
        ),
    ),
    Rule(
        "start-blocked",
        say("No way back"),
        say(
            "When a robot that was hit cannot return because the other robot or its own flag is on "
            "its start tile, its opponent wins. If neither robot can return, it is a draw."
        ),
    ),
    Rule(
        "notation",
        say("Notation"),
        say(
            "In receipts and game files each order is one letter, the same in every language: U "
            "up, D down, L left, R "
            "right, S shoot, I wait (idle). The keys show the letters of your own language."
        ),
    ),
)

_KEYS = tuple(ORDERS[letter] for letter in TILE_LETTERS)
TILES = tuple(OrderTile(key.drawing, key.initial, key.letter, key.label) for key in _KEYS)
_AID = PlayerAid(
    say("Bring their flag home to your base."),
    say("Orders"),
    tuple(AidRow(tile.word, drawing=tile.drawing) for tile in TILES),
    (
        AidPoint(
            say("Three orders, in secret"),
            say(
                "Up is away from you. An order may repeat. Then both open them, one pair at a time."
            ),
        ),
        AidPoint(
            say("You bounce back"),
            say(
                "off the edge, off a wall, off the tile where your own flag lies, and when you "
                "both want the same tile."
            ),
        ),
        AidPoint(
            say("A shot goes in four directions"),
            say(
                "along rank and file, as far as the first wall. A robot that is hit drops its flag "
                "and starts again."
            ),
        ),
        AidPoint(
            say("The flag"), say("Stop on their flag and you carry it. It stays where you drop it.")
        ),
        AidPoint(say("Each step"), say("First both robots move, then both shoot.")),
    ),
)
EXTRAS = Extras(dict.fromkeys(SEATS, _AID), tiles=TILES, places=3)
