"""Examples of actions that Scouts refuses in the set-up and in turns, for each reason of a refusal.

They are tried in notation (see `scouts_tools`), or as moves of hands on the board. Each example has
the state, what is tried, the sentence of the refusal, the id of the rule against it, and the square
that the refusal points at, if any.
"""

from scouts_tools import SET_UP, Example, hand_moves, make_state, start, state_after

from companion.games.scouts.legal import Reason

# White's boulder on its four squares.
LAID_BOULDER = {"white boulder": "d5 e5 d6 e6"}
# A state with a white scout on top of a black one on c4.
STACK_ON_C4 = make_state("c3 c4 e5", "c2 f8", black_low="c4")
PLAY_EXAMPLES: dict[Reason, list[Example]] = {
    Reason.SETTING_UP: [
        Example(
            start(),
            ".",
            "The set-up is not complete. 10 scouts are still to be placed.",
            "setting-up",
        ),
        Example(
            state_after(start(), *SET_UP[:9]),
            "B@d5",
            "The set-up is not complete. One scout is still to be placed.",
            "setting-up",
        ),
        Example(
            state_after(start(), "@c1", "@c10"),
            hand_moves("c1", "c2"),
            "The set-up is not complete. 8 scouts are still to be placed.",
            "setting-up",
        ),
    ],
    Reason.SET_UP_DONE: [
        Example(
            state_after(start(), *SET_UP),
            "@h1",
            "h1 is not a placement. All scouts are on the board.",
            "setting-up",
        ),
    ],
    Reason.OFF_HOME_RANK: [
        Example(
            start(), "@c2", "c2 is not a placement. White places on rank 1.", "setting-up", "c2"
        ),
        Example(
            state_after(start(), "@c1"),
            {"c1": "white scout", "c9": "black scout"},
            "c9 is not a placement. Black places on rank 10.",
            "setting-up",
            "c9",
        ),
    ],
    Reason.SQUARE_TAKEN: [
        Example(
            state_after(start(), "@c1", "@c10"),
            "@c1",
            "c1 is not a placement. A scout is on c1 already.",
            "setting-up",
            "c1",
        ),
    ],
    Reason.PLAY_DUE: [
        Example(make_state("c4 c6"), ".", "2 scouts are still to move.", "turns"),
        Example(
            make_state("c4 c6", due=1, played="c6"),
            ".",
            "1 scout is still to move.",
            "turns",
        ),
        Example(state_after(start(), *SET_UP), ".", "1 scout is still to move.", "turns"),
    ],
    Reason.NO_SCOUT: [
        Example(make_state("c4"), "d4-d5", "There is no scout on d4.", "turns", "d4"),
    ],
    Reason.NOT_YOUR_SCOUT: [
        Example(
            make_state("c4", "c6"),
            "c6-c5",
            "The scout on c6 is black’s.",
            "turns",
            "c6",
        ),
        Example(
            make_state("c4", "c6"),
            hand_moves("c6", "f6", "black scout"),
            "The scout on c6 is black’s.",
            "turns",
            "c6",
        ),
    ],
    Reason.BURIED: [
        Example(
            make_state("e5", "c4", white_low="c4"),
            "c4-c5",
            "The scout on c4 waits under a black one.",
            "stacks",
            "c4",
        ),
    ],
    Reason.PLAYS_MADE: [
        Example(
            make_state("c4 c6", due=0, played="c6"),
            "c4-c5",
            "Two scouts have moved: end the turn.",
            "turns",
        ),
        Example(
            state_after(start(), *SET_UP, "b1-b2"),
            hand_moves("c1", "c2"),
            "The first turn has one move: end it.",
            "turns",
        ),
    ],
    Reason.ALREADY_PLAYED: [
        Example(
            make_state("c4 c6", due=1, played="c6"),
            hand_moves("c6", "c7"),
            "That scout has already moved.",
            "turns",
            "c6",
        ),
    ],
    Reason.TOO_FAR: [
        Example(make_state("c4"), "c4-e4", "A dash goes one square.", "dash"),
        Example(make_state("c4"), "c4-c4", "A dash goes one square.", "dash"),
    ],
    Reason.ROCK_IN_THE_WAY: [
        Example(
            make_state("c5", rocks=LAID_BOULDER),
            hand_moves("c5", "d6"),
            "The white boulder covers d6.",
            "rocks",
            "d6",
        ),
        Example(
            make_state("c5", rocks={"black rock": "d5 d6"}),
            "c5^e5",
            "The black rock covers d5.",
            "rocks",
            "d5",
        ),
        Example(
            make_state("b5", "c5", rocks=LAID_BOULDER),
            "b5^d5",
            "The white boulder covers d5.",
            "rocks",
            "d5",
        ),
    ],
    Reason.STACK_FULL: [
        Example(
            STACK_ON_C4,
            "c3-c4",
            "Two scouts are on c4, and a stack has two at most.",
            "stacks",
            "c4",
        ),
    ],
    Reason.STACKING_OFF: [
        Example(
            make_state("c4", "c5", stacking="off"),
            hand_moves("c4", "c5"),
            "A scout is on c5, and this game has no stacks.",
            "stacks",
            "c5",
        ),
    ],
    Reason.ON_STACK: [
        Example(
            make_state("c4", "d4", black_low="c4"),
            "c4^e4",
            "A scout on a stack can only dash.",
            "stacks",
            "c4",
        ),
        Example(
            make_state("c4", "d4", black_low="c4"),
            {"c4": "black scout", "e4": "white scout"},
            "A scout on a stack can only dash.",
            "stacks",
            "c4",
        ),
    ],
    Reason.NOT_A_JUMP: [
        Example(
            make_state("c4", "c5"),
            "c4^c6^d8",
            "c6 to d8 is not a jump: it goes two squares along a file or a rank.",
            "jump",
        ),
        Example(
            make_state("c4"),
            hand_moves("c4", "h8"),
            "c4 to h8 is not a jump: it goes two squares along a file or a rank.",
            "jump",
        ),
    ],
    Reason.DIAGONAL_JUMP: [
        Example(
            make_state("c4", "d5"),
            hand_moves("c4", "e6"),
            "A jump goes along a file or a rank, never diagonally.",
            "jump",
        ),
    ],
    Reason.NOTHING_TO_JUMP: [
        Example(
            make_state("c4"), hand_moves("c4", "e4"), "c4 can’t jump: d4 is empty.", "jump", "d4"
        ),
    ],
    Reason.JUMP_OVER_STACK: [
        Example(
            STACK_ON_C4,
            hand_moves("c3", "c5"),
            "Two scouts are on c4, and nothing jumps over a stack.",
            "stacks",
            "c4",
        ),
    ],
    Reason.LANDING_TAKEN: [
        Example(
            make_state("c4", "c5 c6"),
            "c4^c6",
            "A scout is on c6, and a jump ends on an empty square.",
            "jump",
            "c6",
        ),
    ],
    Reason.VISITED_TWICE: [
        Example(
            make_state("c4", "c5 d6 e5 d4"),
            "c4^c6^e6^e4^c4",
            "A move visits no square twice, and this one returns to c4.",
            "jump",
            "c4",
        ),
        Example(
            make_state("c4", "c5"),
            "c4^c6^c4",
            "A move visits no square twice, and this one returns to c4.",
            "jump",
            "c4",
        ),
    ],
    Reason.PLAY_ENDED: [
        Example(
            make_state("c8", "c9 d10"),
            "c8^c10^e10",
            "It ends on c10, where the scout is turned over.",
            "intel",
            "c10",
        ),
        Example(
            make_state("c3", "c2 d1", intel="c3"),
            "c3^c1^e1",
            "It ends on c1, where the scout brings intel home.",
            "winning",
            "c1",
        ),
    ],
}
