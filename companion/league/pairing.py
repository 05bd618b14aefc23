"""Pairings of the next round: Swiss, round robin, and a knock-out bracket.

Swiss pairing is a minimum-cost matching over all players at once, as in bbpPairings. Nobody meets
the same opponent twice or gets two byes, and nobody plays a side for the third time running if that
can be avoided. Next in importance are equal points and balanced sides. Within a group of equal
points, the upper half meets the lower half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from companion.core.errors import SystemTrouble, wrong_phase
from companion.core.i18n import say
from companion.league.tournament import (
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

SIDE_COST, POINTS_COST, BYE_COST, CLASH_COST = 10**9, 10**13, 10**20, 10**24
"""Weight of one unit of each cost. Each weight exceeds the sum of all less important costs of 250
matches.
"""
MAX_COST = 10**27
MUST_LEAN = 10
"""Minimum lean to a side that must not be played again.

A surplus of two games on one side, or two in a row, raises the lean above it (see `lean`).
"""
Pairs = Sequence[tuple[int, int | None]]
"""South and North of each match. North is None for a bye."""


def next_matches(tournament: Tournament) -> tuple[Match, ...]:
    """Return the matches of the next round. Raises `Illegal` if no pairing is possible."""
    number = len(tournament.rounds) + 1
    pairs = _SYSTEMS[tournament.system](tournament, number)
    return tuple(_match(tournament, number, south, north) for south, north in pairs)


def by_strength(tournament: Tournament) -> tuple[Entrant, ...]:
    """Return all entrants by rating, strongest first."""
    return tuple(sorted(tournament.entrants, key=lambda entrant: (-entrant.rating, entrant.number)))


def _match(tournament: Tournament, number: int, south: int, north: int | None) -> Match:
    if north is None:
        # in a round robin everybody has the same number of byes, so they give no points
        return Match(south, None, halves=WIN if tournament.system is not System.ROUND_ROBIN else 0)
    entrants = tournament.entrant(south), tournament.entrant(north)
    is_there = {
        person: entrant.is_there(number) for entrant in entrants for person in entrant.people
    }
    boards = []
    for place, people in enumerate(zip(*(entrant.people for entrant in entrants), strict=True)):
        # the sides of a team alternate from board to board
        one, other = people if place % 2 == 0 else reversed(people)
        # None until the game is over
        verdict = _DEFAULTS.get((is_there[one], is_there[other]))
        boards.append(MatchBoard(one, other, verdict=verdict))
    return Match(south, north, tuple(boards))


_DEFAULTS = {
    (True, False): BoardEnd.SOUTH_BY_DEFAULT,
    (False, True): BoardEnd.NORTH_BY_DEFAULT,
    (False, False): BoardEnd.NEITHER,
}
"""Verdicts of boards on which somebody has withdrawn, by whether South and North are there."""


# ---- Swiss ---------------------------------------------------------------------------------------


def _swiss(tournament: Tournament, number: int) -> Pairs:
    """Return the pairs of minimum cost (see the module). Raises `Illegal` if somebody would be left
    over.
    """
    try:
        from rustworkx import PyGraph, max_weight_matching  # noqa: PLC0415 - only a hub has it, and only a round needs it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    players = [
        _Player(tournament, entrant)
        for entrant in by_strength(tournament)
        if entrant.is_there(number)
    ]
    # the sort is stable: with equal points the stronger player stays first
    players.sort(key=lambda player: -player.halves)
    sizes = Counter(player.halves for player in players)
    # the best pairing is a perfect matching of maximum weight
    graph = PyGraph(multigraph=False)
    graph.add_nodes_from(players)
    if len(players) % 2:
        # a node without a player stands for the bye, which costs more for players with more points,
        # and among equals for stronger ones
        bye = graph.add_node(None)
        for node, player in enumerate(players):
            if not player.had_bye:
                graph.add_edge(node, bye, BYE_COST * player.halves + bye - node)
    for one, other in combinations(range(len(players)), 2):
        first, second = players[one], players[other]
        if second.number in first.met:
            continue
        cost = _cost(first, second)
        if first.halves == second.halves:
            # within a group, the first of the upper half meets the first of the lower half
            cost += (other - one - sizes[first.halves] // 2) ** 2
        graph.add_edge(one, other, cost)
    # the library maximizes weight, so subtract the cost
    matching = max_weight_matching(
        graph, max_cardinality=True, weight_fn=lambda cost: MAX_COST - cost
    )
    if 2 * len(matching) < len(graph):
        raise wrong_phase(
            say(
                "Not everybody can be given a new opponent any more: end the tournament after this "
                "round"
            )
        )
    pairs: list[tuple[int, int | None]] = []
    for one, other in sorted(tuple(sorted(pair)) for pair in matching):
        # the index after the last player is the bye
        if other == len(players):
            pairs.append((players[one].number, None))
        else:
            pairs.append(_with_sides(players[one], players[other], one))
    return pairs


class _Player:
    """An entrant with the data that pairing needs: points, past sides (see `_sides`), opponents and
    bye.
    """

    def __init__(self, tournament: Tournament, entrant: Entrant) -> None:
        self.number = number = entrant.number
        self.halves = tournament.halves(number)
        self.sides = _sides(tournament, number)
        self.met = frozenset(opponents(tournament, number))
        self.had_bye = has_had_bye(tournament, number)

    @property
    def lean(self) -> int:
        """Return how much more often this player was South than North. Positive: North is due.

        If both are equal, the last side decides. From `MUST_LEAN` on, the other side is a must.
        """
        balance = self.sides.count("S") - self.sides.count("N")
        last = {"S": 1, "N": -1}.get(self.sides[-1:], 0)
        lean = 2 * balance + last
        # a surplus of two, or the same side twice in a row
        repeats = self.sides[-2:] in ("SS", "NN")
        if repeats or abs(balance) > 1:
            surplus = last if repeats else balance
            lean += 2 * MUST_LEAN * (1 if surplus > 0 else -1)
        return lean


def _cost(one: _Player, other: _Player) -> int:
    """Return the cost of pairing two players with unequal points, or who want the same side."""
    cost = POINTS_COST * (one.halves - other.halves) ** 2
    if one.lean * other.lean > 0:
        # one wish is refused: the weaker one, which costs most if it is a must
        refused = min(abs(one.lean), abs(other.lean))
        cost += CLASH_COST if refused >= MUST_LEAN else SIDE_COST * refused**2
    return cost


def _with_sides(one: _Player, other: _Player, place: int) -> tuple[int, int]:
    """Return South and North of a match.

    The one who has been South more often sits North. If they are level, sides alternate by `place`.
    """
    is_first_south = place % 2 == 0 if one.lean == other.lean else one.lean < other.lean
    return (one.number, other.number) if is_first_south else (other.number, one.number)


def opponents(tournament: Tournament, entrant: int) -> Iterable[int]:
    """Yield the opponents of an entrant, including those who did not come."""
    for match in tournament.matches(entrant):
        if match.north is not None:
            yield opponent(match, entrant)


def has_had_bye(tournament: Tournament, entrant: int) -> bool:
    """Return whether an entrant scored without playing, by a full bye or because the opponent did
    not come.
    """
    for match in tournament.matches(entrant):
        if match.north is None:
            had_points = match.halves == WIN
        else:
            had_points = not match.is_played and match_halves(tournament, match, entrant) > 0
        if had_points:
            return True
    return False


def _sides(tournament: Tournament, entrant: int) -> str:
    """Return one letter for each game that was played, the entrant's side on the first board: `S`
    or `N`.
    """
    people = tournament.entrant(entrant).people
    letters = ""
    for match in tournament.matches(entrant):
        if match.boards and match.boards[0].is_played:
            letters += "S" if match.boards[0].south in people else "N"
    return letters


# ---- round robin, knock-out ----------------------------------------------------------------------


def _round_robin(tournament: Tournament, number: int) -> Pairs:
    """Return the pairs of the circle method, with the sides of the Berger tables.

    Nobody plays one side more than one game more often than the other.
    """
    order = tournament.order
    # somebody who would meet nobody has a bye
    *circle, last = order if len(order) % 2 == 0 else (*order, None)
    if number > len(circle):
        raise wrong_phase(say("Everybody has met everybody: the tournament is over"))
    # each round turns the circle, which is everybody but the last, by half a turn
    half = len(order) - len(order) // 2
    start = (number - 1) * half % len(circle)
    row = [*circle[start:], *circle[:start], last]
    seats = list(zip(row[:half], row[: half - 1 : -1], strict=True))
    # the last one, who stays in place, changes sides from round to round
    if number % 2 == 0:
        seats[0] = seats[0][::-1]
    return [_pair(south, north) for south, north in seats]


def _pair(one: int | None, other: int | None) -> tuple[int, int | None]:
    """Return the match of two entrants, or a bye for the one who is there."""
    return (one or other or 0, None) if one is None or other is None else (one, other)


def _knockout(tournament: Tournament, number: int) -> Pairs:
    """Return the pairs of the next round: winners of neighbouring matches in the bracket.

    In the first round the strongest seeds get the byes that fill the bracket.
    """
    slots: list[int | None]
    if number == 1:
        # round up to a power of two: the slots that stay empty are byes
        size = 1 << (len(tournament.order) - 1).bit_length()
        seeds = [*tournament.order, *[None] * (size - len(tournament.order))]
        slots = [seeds[seed - 1] for seed in bracket(size)]
    else:
        matches = tournament.rounds[-1].matches
        slots = [winner(tournament, match) for match in matches]
        for entrant, match in zip(slots, matches, strict=True):
            if entrant is None and match.is_played:
                raise wrong_phase(
                    say("A match has no winner: the director has to say who goes on"),
                )
    if len(slots) < 2:
        raise wrong_phase(say("Only one is left: the tournament is over"))
    pairs: list[tuple[int, int | None]] = []
    for one, other in zip(slots[::2], slots[1::2], strict=True):
        if one is None and other is None:
            raise wrong_phase(
                say("Nobody came to two matches in a row: end the tournament here"),
            )
        # who was South less often is South
        one_south, other_south = (
            _sides(tournament, entrant).count("S") if entrant else 0 for entrant in (one, other)
        )
        pairs.append(_pair(one, other) if one_south <= other_south else _pair(other, one))
    return pairs


def bracket(size: int) -> list[int]:
    """Return the seeds in bracket order, so that the strongest meet as late as possible.

    >>> bracket(8)
    [1, 8, 4, 5, 2, 7, 3, 6]
    """
    seeds = [1]
    while len(seeds) < size:
        # a seed and its opponent add up to the number of seeds plus one
        seeds = [number for seed in seeds for number in (seed, 2 * len(seeds) + 1 - seed)]
    return seeds


_SYSTEMS: dict[System, Callable[[Tournament, int], Pairs]] = {
    System.SWISS: _swiss,
    System.ROUND_ROBIN: _round_robin,
    System.KNOCKOUT: _knockout,
}
