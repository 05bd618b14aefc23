"""Who meets whom in the next round: Swiss, round robin, and a bracket for a knock-out.

Swiss is a matching of least cost over everybody at once, as bbpPairings finds it: nobody meets
anybody twice, nobody has two byes, nobody is a third time running on one side while that can be.
Then points as equal as can be, sides in balance, nobody twice up or down, and in a group of equal
points the upper half against the lower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from companion.core.errors import Illegal, Refusal, SystemTrouble
from companion.core.i18n import say
from companion.league.tournament import (
    HALF,
    WIN,
    BoardEnd,
    Entrant,
    Match,
    MatchBoard,
    System,
    Tournament,
    match_halves,
    opponent,
    winner,
)

FLOATS, SIDES, APART, BYE = 10**9, 10**13, 10**17, 10**24
"""What one unit of each cost weighs: more than all that is less important of 250 matches
together."""
MAX_COST = 10**27
Pairs = Sequence[tuple[int, int | None]]
"""South and North of each match. None: a bye."""


def next_matches(tournament: Tournament) -> tuple[Match, ...]:
    """Return the matches of the next round. Raises `Illegal` where there can be none."""
    number = len(tournament.rounds) + 1
    pairs = _SYSTEMS[tournament.system](tournament, number)
    there = {entrant.number: entrant for entrant in tournament.entrants}
    matches = [_match(tournament, there, number, south, north) for south, north in pairs]
    # whoever has asked to rest gets half a point for it
    if tournament.system is System.SWISS:
        resting = [
            entrant
            for entrant in tournament.entrants
            if entrant.is_there(number) and number in entrant.rests
        ]
        matches += [Match(entrant.number, None, halves=HALF) for entrant in resting]
    return tuple(matches)


def by_strength(tournament: Tournament) -> tuple[Entrant, ...]:
    """Return everybody, the strongest first."""
    return tuple(sorted(tournament.entrants, key=lambda entrant: (-entrant.rating, entrant.number)))


def _match(
    tournament: Tournament, there: dict[int, Entrant], number: int, south: int, north: int | None
) -> Match:
    if north is None:
        # in a round robin the byes are equal for all, so they give nothing
        return Match(south, None, halves=WIN if tournament.system is not System.ROUND_ROBIN else 0)
    entrants = there[south], there[north]
    boards = []
    for place in range(tournament.team_size):
        one, other = (entrant.people[place] for entrant in entrants)
        # a team's sides take turns from board to board
        south_person, north_person = (one, other) if place % 2 == 0 else (other, one)
        verdict = _verdict_without(entrants, number, south_person, north_person)
        boards.append(MatchBoard(south_person, north_person, verdict=verdict))
    return Match(south, north, tuple(boards))


def _verdict_without(
    entrants: Sequence[Entrant], number: int, south: int, north: int
) -> BoardEnd | None:
    """Return how a board has ended before it is played because somebody has withdrawn. None: nobody
    has.
    """
    gone = [entrant for entrant in entrants if not entrant.is_there(number)]
    withdrawn = {person for entrant in gone for person in entrant.people}
    if not withdrawn:
        return None
    if south not in withdrawn:
        return BoardEnd.SOUTH_BY_DEFAULT
    return BoardEnd.NORTH_BY_DEFAULT if north not in withdrawn else BoardEnd.NEITHER


# ---- Swiss ---------------------------------------------------------------------------------------


def _swiss(tournament: Tournament, number: int) -> Pairs:
    try:
        from rustworkx import PyGraph, max_weight_matching  # noqa: PLC0415 - only a hub has it, and only a round needs it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    players = [
        _Player(tournament, entrant)
        for entrant in by_strength(tournament)
        if entrant.is_there(number) and number not in entrant.rests
    ]
    # the sort is stable: with equal points the stronger one stays first
    players.sort(key=lambda player: -player.halves)
    sizes = Counter(player.halves for player in players)
    # only where nothing else is left do two meet who both must have the same side
    for may_clash in (False, True):
        # a perfect matching of the greatest weight is the best pairing
        graph = PyGraph(multigraph=False)
        graph.add_nodes_from(players)
        if len(players) % 2:
            # somebody who is nobody stands for the bye: it goes to few points first
            bye = graph.add_node(None)
            for node, player in enumerate(players):
                if not player.had_bye:
                    graph.add_edge(node, bye, BYE * player.halves)
        for one, other in combinations(range(len(players)), 2):
            first, second = players[one], players[other]
            # both must have the same side
            is_clash = first.strength == second.strength == 3 and first.wants == second.wants
            if second.number in first.met or (is_clash and not may_clash):
                continue
            cost = _cost(first, second)
            if first.halves == second.halves:
                # in a group the upper half meets the lower one, the first the first
                cost += (other - one - sizes[first.halves] // 2) ** 2
            graph.add_edge(one, other, cost)
        # the library looks for the greatest weight, so costs are turned round
        matching = max_weight_matching(
            graph, max_cardinality=True, weight_fn=lambda cost: MAX_COST - cost
        )
        if 2 * len(matching) == len(graph):
            pairs: list[tuple[int, int | None]] = []
            for one, other in sorted(tuple(sorted(pair)) for pair in matching):
                # the number behind the last player is the bye's
                if other == len(players):
                    pairs.append((players[one].number, None))
                else:
                    pairs.append(_with_sides(players[one], players[other], one))
            return pairs
    raise Illegal(
        Refusal.WRONG_PHASE,
        say(
            "Not everybody can be given a new opponent any more: end the tournament after this "
            "round"
        ),
    )


class _Player:
    """An entrant as a round is drawn: `sides` as `_sides`, `floated` as `_floated`."""

    def __init__(self, tournament: Tournament, entrant: Entrant) -> None:
        self.number = number = entrant.number
        self.halves = tournament.halves(number)
        self.sides = _sides(tournament, entrant)
        self.met = frozenset(opponents(tournament, number))
        self.had_bye = has_had_bye(tournament, number)
        self.floated = _floated(tournament, number)

    @property
    def balance(self) -> int:
        """Return how often South more than North."""
        return self.sides.count("S") - self.sides.count("N")

    @property
    def wants(self) -> str:
        """Return the side that is due. Empty: any."""
        if self.balance:
            return "N" if self.balance > 0 else "S"
        # in balance it is the turn of the other side than last time
        return {"S": "N", "N": "S"}.get(self.sides.replace("-", "")[-1:], "")

    @property
    def strength(self) -> int:
        """Return how much it matters: 3 it must be, 2 to be in balance, 1 to take turns, 0 not at
        all."""
        last = self.sides.replace("-", "")[-2:]
        # two more of one side, or twice the same in a row: now it must be the other
        if abs(self.balance) > 1 or last in ("SS", "NN"):
            return 3
        return 2 if self.balance else 1 if last else 0


def _cost(one: _Player, other: _Player) -> int:
    """Return what speaks against two meeting, the more important the more: unequal points, sides,
    the same float again."""
    cost = APART * (one.halves - other.halves) ** 2
    if one.wants == other.wants:
        # the weaker of the two wishes is the one that is not granted
        cost += SIDES * (1, 4, 9, 16)[min(one.strength, other.strength)]
    if one.halves != other.halves:
        # nobody should meet fewer points, or more of them, twice in a row
        upper, lower = (one, other) if one.halves > other.halves else (other, one)
        cost += FLOATS * ((upper.floated > 0) + (lower.floated < 0))
    return cost


def _with_sides(one: _Player, other: _Player, place: int) -> tuple[int, int]:
    """Return South and North of a match: whose wish is stronger, else whose who is ahead.

    At first in turn.
    """
    ahead, behind = (one, other) if one.strength >= other.strength else (other, one)
    if not ahead.wants:
        return (one.number, other.number) if place % 2 == 0 else (other.number, one.number)
    return (ahead.number, behind.number) if ahead.wants == "S" else (behind.number, ahead.number)


def opponents(tournament: Tournament, entrant: int) -> Iterable[int]:
    """Yield whom an entrant has met, those who did not come included."""
    for match in tournament.matches(entrant):
        if match.north is not None:
            yield opponent(match, entrant)


def has_had_bye(tournament: Tournament, entrant: int) -> bool:
    """Return whether an entrant had points without playing: a bye, or somebody who did not come."""
    for match in tournament.matches(entrant):
        if match.north is None:
            had_points = match.halves == WIN
        else:
            had_points = not match.is_played and match_halves(tournament, match, entrant) > 0
        if had_points:
            return True
    return False


def _sides(tournament: Tournament, entrant: Entrant) -> str:
    """Return the sides on the first board in all rounds: `S`, `N`, and `-` where it was not
    played.
    """
    letters = ""
    for round_ in tournament.rounds:
        match = round_.match_of(entrant.number)
        board = match.boards[0] if match and match.boards else None
        if board is None or not board.is_played:
            letters += "-"
        else:
            letters += "S" if board.south in entrant.people else "N"
    return letters


def _floated(tournament: Tournament, entrant: int) -> int:
    """Return whether an entrant met fewer points (1) or more (-1) in the last round. A bye is
    downwards.
    """
    match = tournament.round.match_of(entrant) if tournament.round else None
    if match is None:
        return 0
    if match.north is None:
        return int(match.halves == WIN)
    # points count as they stood when that round was paired
    before = len(tournament.rounds) - 1
    own = tournament.halves(entrant, before)
    other = tournament.halves(opponent(match, entrant), before)
    return (own > other) - (own < other)


# ---- round robin, knock-out ----------------------------------------------------------------------


def _round_robin(tournament: Tournament, number: int) -> Pairs:
    """Return the circle method, with the sides of Berger's tables: nobody has one side more than
    once oftener."""
    order = tournament.order
    last = len(order) + len(order) % 2
    if number >= last:
        raise Illegal(
            Refusal.WRONG_PHASE, say("Everybody has met everybody: the tournament is over")
        )
    pairs: list[tuple[int, int | None]] = []
    for one in range(1, last):
        # on a circle of all seeds but the last those meet whose sum is the round plus one
        other = (number + 1 - one) % (last - 1) or last - 1
        if other == one:
            # who would meet itself meets the last seed, which has no place on the circle
            seeds = (one, last) if one <= last // 2 else (last, one)
        elif one < other:
            # the lower seed is South where the sum is odd
            seeds = (one, other) if (one + other) % 2 else (other, one)
        else:
            continue
        south, north = (_entrant_of(order, seed) for seed in seeds)
        if south is None or north is None:
            pairs.append((south or north or 0, None))
        else:
            pairs.append((south, north))
    return pairs


def _entrant_of(order: Sequence[int], seed: int) -> int | None:
    """Return the entrant of a seed, counted from 1. None: a bye."""
    return order[seed - 1] if seed <= len(order) else None


def _knockout(tournament: Tournament, number: int) -> Pairs:
    """Return the winners in the order of the bracket.

    First the strongest have the byes that fill it.
    """
    slots: list[int | None]
    if number == 1:
        # the next power of two: what is missing are the byes of the first round
        size = 1 << (len(tournament.order) - 1).bit_length()
        slots = [_entrant_of(tournament.order, seed) for seed in bracket(size)]
    else:
        matches = tournament.rounds[-1].matches
        slots = [winner(tournament, match) for match in matches]
        for entrant, match in zip(slots, matches, strict=True):
            if entrant is None and match.is_played:
                raise Illegal(
                    Refusal.WRONG_PHASE,
                    say("A match has no winner: the director has to say who goes on"),
                )
    if len(slots) < 2:
        raise Illegal(Refusal.WRONG_PHASE, say("Only one is left: the tournament is over"))
    pairs: list[tuple[int, int | None]] = []
    for one, other in zip(slots[::2], slots[1::2], strict=True):
        if one is None and other is None:
            raise Illegal(
                Refusal.WRONG_PHASE,
                say("Nobody came to two matches in a row: end the tournament here"),
            )
        if one is None or other is None:
            pairs.append((one or other or 0, None))
        else:
            # whoever was South less often is South now, else the stronger one
            before = [
                _sides(tournament, tournament.entrant(number)).count("S") for number in (one, other)
            ]
            pairs.append((other, one) if before[1] < before[0] else (one, other))
    return pairs


def bracket(size: int) -> list[int]:
    """Return the seeds of a bracket in its order, so that the strongest meet as late as can be.

    >>> bracket(8)
    [1, 8, 4, 5, 2, 7, 3, 6]
    """
    seeds = [1]
    while len(seeds) < size:
        # each seed and its opponent add up to the size of the round plus one
        seeds = [number for seed in seeds for number in (seed, 2 * len(seeds) + 1 - seed)]
    return seeds


_SYSTEMS: dict[System, Callable[[Tournament, int], Pairs]] = {
    System.SWISS: _swiss,
    System.ROUND_ROBIN: _round_robin,
    System.KNOCKOUT: _knockout,
}
