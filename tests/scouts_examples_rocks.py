"""Examples of rocks and boulders that Scouts refuses, for each reason of a refusal.

They are built like those of `scouts_examples`.
"""

from scouts_tools import Example, make_state

from companion.games.scouts.legal import Reason

# White's boulder on its four squares.
LAID_BOULDER = {"white boulder": "d5 e5 d6 e6"}
ROCK_EXAMPLES: dict[Reason, list[Example]] = {
    Reason.ROCK_SPENT: [
        Example(
            make_state("c4", rocks=LAID_BOULDER),
            "B@a9",
            "The boulder does not go on a9. White has laid its boulder already.",
            "rocks",
        ),
    ],
    Reason.OFF_BOARD: [
        Example(
            make_state("c4"),
            "B@h5",
            "The boulder does not fit on h5. "
            "It covers two files and two ranks, h5 being the lowest on the left.",
            "rocks",
            "h5",
        ),
        Example(
            make_state("c4"),
            "B@a10",
            "The boulder does not fit on a10. "
            "It covers two files and two ranks, a10 being the lowest on the left.",
            "rocks",
            "a10",
        ),
    ],
    Reason.ROCK_ON_SCOUT: [
        Example(
            make_state("c4", "e6"),
            "B@d5",
            "The boulder does not fit on d5. A scout is on e6.",
            "rocks",
            "e6",
        ),
        Example(
            make_state("c4"),
            {"c4": "white rock", "d4": "white rock"},
            "The rock does not fit on c4 and d4. A scout is on c4.",
            "rocks",
            "c4",
        ),
    ],
    Reason.ROCK_ON_ROCK: [
        Example(
            make_state("c4", rocks={"black rock": "e6 f6"}),
            "B@d5",
            "The boulder does not fit on d5. The black rock covers e6.",
            "rocks",
            "e6",
        ),
    ],
    Reason.ROCK_TOUCHES: [
        Example(
            make_state("c4", rocks={"black rock": "e7 f7"}),
            "B@d5",
            "The boulder does not fit on d5. It would touch the black rock on e7.",
            "rocks",
            "e7",
        ),
        Example(
            make_state("c4", rocks=LAID_BOULDER),
            {"f6": "white rock", "f7": "white rock"},
            "The rock does not fit on f6 and f7. It would touch the white boulder on e6.",
            "rocks",
            "e6",
        ),
    ],
}
