"""What Scouts refuses of rocks, of hands and of the pieces' sides: what is tried, and what is
answered.
"""

from scouts_tools import Example, at, gone, start

from companion.games.scouts.legal import Reason

LAID = {"white boulder": "d5 e5 d6 e6"}
ROCKS_AND_HANDS: dict[Reason, list[Example]] = {
    Reason.ROCK_SPENT: [
        Example(
            at("c4", rocks=LAID),
            "B@a9",
            "The boulder does not go on a9. White has laid its boulder already.",
            "rocks",
        ),
    ],
    Reason.OFF_BOARD: [
        Example(
            at("c4"),
            "B@h5",
            "The boulder does not fit on h5. It covers two files and two ranks, h5 being the "
            "lowest on the left.",
            "rocks",
            "h5",
        ),
        Example(
            at("c4"),
            "B@a10",
            "The boulder does not fit on a10. It covers two files and two ranks, a10 being the "
            "lowest on the left.",
            "rocks",
            "a10",
        ),
    ],
    Reason.ROCK_ON_SCOUT: [
        Example(
            at("c4", "e6"),
            "B@d5",
            "The boulder does not fit on d5. A scout is on e6.",
            "rocks",
            "e6",
        ),
        Example(
            at("c4"),
            {"c4": "white rock", "d4": "white rock"},
            "The rock does not fit on c4 and d4. A scout is on c4.",
            "rocks",
            "c4",
        ),
    ],
    Reason.ROCK_ON_ROCK: [
        Example(
            at("c4", rocks={"black rock": "e6 f6"}),
            "B@d5",
            "The boulder does not fit on d5. The black rock covers e6.",
            "rocks",
            "e6",
        ),
    ],
    Reason.ROCK_TOUCHES: [
        Example(
            at("c4", rocks={"black rock": "e7 f7"}),
            "B@d5",
            "The boulder does not fit on d5. It would touch the black rock on e7.",
            "rocks",
            "e7",
        ),
        Example(
            at("c4", rocks=LAID),
            {"f6": "white rock", "f7": "white rock"},
            "The rock does not fit on f6 and f7. It would touch the white boulder on e6.",
            "rocks",
            "e6",
        ),
    ],
    Reason.NOT_YOUR_ROCK: [
        Example(
            at("c4"),
            dict.fromkeys(("d5", "d6", "e5", "e6"), "black boulder"),
            "The black boulder is not white’s. White is to move and lays only its own.",
            "rocks",
            "d5",
        ),
    ],
    Reason.ROCK_MOVED: [
        Example(
            at("c4", rocks={"black rock": "e7 f7"}),
            {"e7": None, "g7": "black rock"},
            "The black rock is not moved. Once laid it stays on e7 f7.",
            "rocks",
            "e7",
        ),
        Example(
            at("c4", rocks=LAID),
            dict.fromkeys(("d5", "d6", "e5", "e6")),
            "The white boulder is not moved. Once laid it stays on d5 e5 d6 e6.",
            "rocks",
            "d5",
        ),
    ],
    Reason.TURNED_TOO_SOON: [
        Example(
            at("c4"),
            {"c4": "white scout with intel"},
            "The scout on c4 is turned over too soon. It gathers intel on rank 10.",
            "intel",
            "c4",
        ),
        Example(
            at("c4", "e5"),
            {"e5": "black scout with intel"},
            "The scout on e5 is turned over too soon. It gathers intel on rank 1.",
            "intel",
            "e5",
        ),
        Example(
            at("c4"),
            gone("c4", "c5", "white scout with intel"),
            "The scout on c5 is turned over too soon. It gathers intel on rank 10.",
            "intel",
            "c5",
        ),
        Example(
            start(),
            {"c1": "white scout with intel"},
            "The scout on c1 is turned over too soon. It gathers intel on rank 10.",
            "intel",
            "c1",
        ),
    ],
    Reason.TURNED_BACK: [
        Example(
            at("c4", intel="c4"),
            {"c4": "white scout"},
            "The scout on c4 shows its plain side. It has intel, so the eye stays up.",
            "intel",
            "c4",
        ),
        Example(
            at("c10", intel="c10"),
            gone("c10", "c9"),
            "The scout on c9 shows its plain side. It has intel, so the eye stays up.",
            "intel",
            "c9",
        ),
    ],
}
