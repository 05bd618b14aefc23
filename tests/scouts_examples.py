"""What Scouts refuses in set-up, turns and plays: what is tried, by notation or by hand, and what is answered."""

from scouts_tools import SET_UP, Example, after, at, gone, start

from companion.core.kit import Seat
from companion.games.scouts.legal import Reason

WON = after(at("c2", "e5", intel="c2"), "c2-c1")
LAID = {"white boulder": "d5 e5 d6 e6"}
TALL = at("c3 c4 e5", "c2 f8", black_low="c4")
PLAYS: dict[Reason, list[Example]] = {
    Reason.GAME_OVER: [
        Example(WON, ".", "The game is over. White brings intel home to c1.", "winning"),
    ],
    Reason.NOT_ON_TURN: [
        Example(at("c4"), ".", "Black is not to play. It is white’s turn.", "turns", seat=Seat.NORTH),
    ],
    Reason.SETTING_UP: [
        Example(start(), ".", "The set-up is not complete. 10 scouts are still to be placed.", "setting-up"),
        Example(
            after(start(), *SET_UP[:9]),
            "B@d5",
            "The set-up is not complete. One scout is still to be placed.",
            "setting-up",
        ),
        Example(
            after(start(), "@c1", "@c10"),
            gone("c1", "c2"),
            "The set-up is not complete. 8 scouts are still to be placed.",
            "setting-up",
        ),
    ],
    Reason.SET_UP_DONE: [
        Example(after(start(), *SET_UP), "@h1", "h1 is not a placement. All scouts are on the board.", "setting-up"),
    ],
    Reason.OFF_HOME_RANK: [
        Example(start(), "@c2", "c2 is not a placement. White places on rank 1.", "setting-up", "c2"),
        Example(
            after(start(), "@c1"),
            {"c1": "white scout", "c9": "black scout"},
            "c9 is not a placement. Black places on rank 10.",
            "setting-up",
            "c9",
        ),
    ],
    Reason.SQUARE_TAKEN: [
        Example(
            after(start(), "@c1", "@c10"), "@c1", "c1 is not a placement. A scout is on c1 already.", "setting-up", "c1"
        ),
    ],
    Reason.PLAY_DUE: [
        Example(at("c4 c6"), ".", "The turn is not over. Two plays are still due: move two different scouts.", "turns"),
        Example(
            at("c4 c6", due=1, played="c6"),
            ".",
            "The turn is not over. One play is still due: move a scout that has not been played.",
            "turns",
        ),
        Example(after(start(), *SET_UP), ".", "The turn is not over. One play is still due: move a scout.", "turns"),
    ],
    Reason.NO_SCOUT: [
        Example(at("c4"), "d4-d5", "d4 to d5 is not a play. There is no scout on d4.", "turns", "d4"),
    ],
    Reason.NOT_YOUR_SCOUT: [
        Example(
            at("c4", "c6"),
            "c6-c5",
            "c6 to c5 is not a play. The scout on c6 is black, and white is to play.",
            "turns",
            "c6",
        ),
        Example(
            at("c4", "c6"),
            gone("c6", "f6", "black scout"),
            "c6 to f6 is not a play. The scout on c6 is black, and white is to play.",
            "turns",
            "c6",
        ),
        Example(
            start(),
            {"c10": "black scout"},
            "c10 is not a placement. The scout is black, and white places now.",
            "setting-up",
            "c10",
        ),
    ],
    Reason.BURIED: [
        Example(
            at("e5", "c4", white_low="c4"),
            "c4-c5",
            "c4 to c5 is not a play. The scout on c4 waits under a black one.",
            "stacks",
            "c4",
        ),
    ],
    Reason.PLAYS_MADE: [
        Example(
            at("c4 c6", due=0, played="c6"),
            "c4-c5",
            "c4 to c5 is not a play. Both plays of the turn are made: end the turn.",
            "turns",
        ),
        Example(
            after(start(), *SET_UP, "b1-b2"),
            gone("c1", "c2"),
            "c1 to c2 is not a play. White’s first turn has one play: end the turn.",
            "turns",
        ),
    ],
    Reason.ALREADY_PLAYED: [
        Example(
            at("c4 c6", due=1, played="c6"),
            gone("c6", "c7"),
            "c6 to c7 is not a play. The scout on c6 has been played in this turn.",
            "turns",
            "c6",
        ),
    ],
    Reason.TOO_FAR: [
        Example(at("c4"), "c4-e4", "c4 to e4 is not a play. A dash goes to one of the eight squares around.", "dash"),
        Example(at("c4"), "c4-c4", "c4 to c4 is not a play. A dash goes to one of the eight squares around.", "dash"),
        Example(
            at("c4"),
            gone("c4", "h8"),
            "c4 to h8 is not a play. A dash goes one square, a jump two over a scout.",
            "dash",
        ),
        Example(
            at("c4"),
            gone("c4", "e6"),
            "c4 to e6 is not a play. A dash goes one square, a jump two over a scout.",
            "dash",
        ),
    ],
    Reason.ROCK_IN_THE_WAY: [
        Example(
            at("c5", rocks=LAID),
            gone("c5", "d6"),
            "c5 to d6 is not a play. The white boulder covers d6.",
            "rocks",
            "d6",
        ),
        Example(
            at("c5", rocks={"black rock": "d5 d6"}),
            "c5^e5",
            "c5 to e5 is not a play. The black rock covers d5.",
            "rocks",
            "d5",
        ),
        Example(
            at("b5", "c5", rocks=LAID), "b5^d5", "b5 to d5 is not a play. The white boulder covers d5.", "rocks", "d5"
        ),
    ],
    Reason.STACK_FULL: [
        Example(
            TALL, "c3-c4", "c3 to c4 is not a play. Two scouts are on c4, and a stack has two at most.", "stacks", "c4"
        ),
    ],
    Reason.STACKING_OFF: [
        Example(
            at("c4", "c5", stacking="off"),
            gone("c4", "c5"),
            "c4 to c5 is not a play. A scout is on c5, and this game has no stacks.",
            "stacks",
            "c5",
        ),
    ],
    Reason.ON_STACK: [
        Example(
            at("c4", "d4", black_low="c4"),
            "c4^e4",
            "c4 to e4 is not a play. A scout on a stack can only dash.",
            "stacks",
            "c4",
        ),
        Example(
            at("c4", "d4", black_low="c4"),
            {"c4": "black scout", "e4": "white scout"},
            "c4 to e4 is not a play. A scout on a stack can only dash.",
            "stacks",
            "c4",
        ),
    ],
    Reason.NOT_A_JUMP: [
        Example(
            at("c4", "c5"),
            "c4^c6^d8",
            "c4 to d8 is not a play. c6 to d8 is not a jump: it goes two squares along a file or a rank.",
            "jump",
        ),
    ],
    Reason.DIAGONAL_JUMP: [
        Example(
            at("c4", "d5"),
            gone("c4", "e6"),
            "c4 to e6 is not a play. A jump goes along a file or a rank, never diagonally.",
            "jump",
        ),
    ],
    Reason.NOTHING_TO_JUMP: [
        Example(
            at("c4"), gone("c4", "e4"), "c4 to e4 is not a play. There is nothing on d4 to jump over.", "jump", "d4"
        ),
        Example(
            at("c4", "c5"),
            gone("c4", "e6"),
            "c4 to e6 is not a play. There is nothing on d6 to jump over.",
            "jump",
            "d6",
        ),
    ],
    Reason.JUMP_OVER_STACK: [
        Example(
            TALL,
            gone("c3", "c5"),
            "c3 to c5 is not a play. Two scouts are on c4, and nothing jumps over a stack.",
            "stacks",
            "c4",
        ),
    ],
    Reason.LANDING_TAKEN: [
        Example(
            at("c4", "c5 c6"),
            "c4^c6",
            "c4 to c6 is not a play. A scout is on c6, and a jump ends on an empty square.",
            "jump",
            "c6",
        ),
    ],
    Reason.VISITED_TWICE: [
        Example(
            at("c4", "c5 d6 e5 d4"),
            "c4^c6^e6^e4^c4",
            "c4 to c4 is not a play. A play visits no square twice, and this one returns to c4.",
            "jump",
            "c4",
        ),
        Example(
            at("c4", "c5"),
            "c4^c6^c4",
            "c4 to c4 is not a play. A play visits no square twice, and this one returns to c4.",
            "jump",
            "c4",
        ),
    ],
    Reason.PLAY_ENDED: [
        Example(
            at("c8", "c9 d10"),
            "c8^c10^e10",
            "c8 to e10 is not a play. It ends on c10, where the scout is turned over.",
            "intel",
            "c10",
        ),
        Example(
            at("c8", "c9 d10"),
            gone("c8", "e10"),
            "c8 to e10 is not a play. It ends on c10, where the scout is turned over.",
            "intel",
            "c10",
        ),
        Example(
            at("c3", "c2 d1", intel="c3"),
            "c3^c1^e1",
            "c3 to e1 is not a play. It ends on c1, where the scout brings intel home.",
            "winning",
            "c1",
        ),
    ],
}
