"""Who meets whom in the next round: Swiss, round robin, and a bracket for a knock-out.

Swiss is a matching of least cost over everybody at once, as bbpPairings finds it: nobody meets anybody twice, nobody
has two byes, nobody is a third time running on one side while that can be. Then points as equal as can be, sides in
balance, nobody twice up or down, and in a group of equal points the upper half against the lower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
"""What one unit of each cost weighs: more than all that is less important of 250 matches together."""
MAX_COST = 10**27
Pairs = Sequence[tuple[int, int | None]]
"""South and North of each match. None: a bye."""


def next_matches(tournament: Tournament) -> tuple[Match, ...]:
    """Return the matches of the next round. Raises `Illegal` where there can be none."""
    number = len(tournament.rounds) + 1
    pairs = _SYSTEMS[tournament.system](tournament, number)
    there = {entrant.number: entrant for entrant in tournament.entrants}
    matches = [_match(tournament, there, number, south, north) for south, north in pairs]
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
    return tuple(sorted(tournament.entrants, key=lambda each: (-each.rating, each.number)))


def _match(
    tournament: Tournament, there: dict[int, Entrant], number: int, south: int, north: int | None
) -> Match:
    if north is None:
        return Match(south, None, halves=WIN if tournament.system is not System.ROUND_ROBIN else 0)
    boards = []
    for place in range(tournament.team_size):
        one, other = there[south].people[place], there[north].people[place]
        boards.append(MatchBoard(one, other) if place % 2 == 0 else MatchBoard(other, one))
    gone = [not there[entrant].is_there(number) for entrant in (south, north)]
    if any(gone):
        boards = [_by_default(board, there[south], there[north], gone) for board in boards]
    return Match(south, north, tuple(boards))


def _by_default(board: MatchBoard, south: Entrant, north: Entrant, gone: list[bool]) -> MatchBoard:
    """Return the board of somebody who has withdrawn: it is decided before it is played."""
    withdrawn = {
        person
        for entrant, is_gone in zip((south, north), gone, strict=True)
        if is_gone
        for person in entrant.people
    }
    verdict = BoardEnd.NEITHER
    if board.south not in withdrawn:
        verdict = BoardEnd.SOUTH_BY_DEFAULT
    elif board.north not in withdrawn:
        verdict = BoardEnd.NORTH_BY_DEFAULT
    return MatchBoard(board.south, board.north, verdict=verdict)


# ---- Swiss ----------------------------------------------------------------------------------------------------------


def _swiss(tournament: Tournament, number: int) -> Pairs:
    try:
        from rustworkx import PyGraph, max_weight_matching  # noqa: PLC0415 - only a hub has it, and only a round needs it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    there = [
        entrant
        for entrant in by_strength(tournament)
        if entrant.is_there(number) and number not in entrant.rests
    ]
    players = sorted(
        (_player(tournament, entrant) for entrant in there), key=lambda player: -player.halves
    )
    groups = {
        halves: [p for p in players if p.halves == halves] for halves in {p.halves for p in players}
    }
    places = {
        player.number: place for group in groups.values() for place, player in enumerate(group)
    }
    for may_clash in (False, True):
        # a perfect matching of the greatest weight is the best pairing
        graph = PyGraph(multigraph=False)
        graph.add_nodes_from(players)
        if len(players) % 2:
            bye = graph.add_node(None)
            for node, player in enumerate(players):
                if not player.had_bye:
                    graph.add_edge(node, bye, BYE * player.halves)
        for one, other in combinations(range(len(players)), 2):
            first, second = players[one], players[other]
            if second.number not in first.met and (may_clash or not _clash(first, second)):
                fold = _from_fold(places, len(groups[first.halves]), first, second)
                graph.add_edge(one, other, _cost(first, second) + fold)
        matching = max_weight_matching(
            graph, max_cardinality=True, weight_fn=lambda cost: MAX_COST - cost
        )
        if 2 * len(matching) == len(graph):
            pairs = sorted(tuple(sorted(pair)) for pair in matching)
            return [
                (players[one].number, None)
                if graph[other] is None
                else _with_sides(players[one], players[other], one)
                for one, other in pairs
            ]
    raise Illegal(
        Refusal.WRONG_PHASE,
        say(
            "Not everybody can be given a new opponent any more: end the tournament after this round"
        ),
    )


@dataclass(frozen=True)
class _Player:
    """An entrant as a round is drawn: `sides` as `_sides`, `floats` as `_floated`."""

    number: int
    halves: int
    sides: str
    met: frozenset[int]
    had_bye: bool
    floated: int

    @property
    def balance(self) -> int:
        """Return how often South more than North."""
        return self.sides.count("S") - self.sides.count("N")

    @property
    def wants(self) -> str:
        """Return the side that is due. Empty: any."""
        if self.balance:
            return "N" if self.balance > 0 else "S"
        return {"S": "N", "N": "S"}.get(self.sides.replace("-", "")[-1:], "")

    @property
    def strength(self) -> int:
        """Return how much it matters: 3 it must be, 2 to be in balance, 1 to take turns, 0 not at
        all."""
        last = self.sides.replace("-", "")[-2:]
        if abs(self.balance) > 1 or last in ("SS", "NN"):
            return 3
        return 2 if self.balance else 1 if last else 0


def _player(tournament: Tournament, entrant: Entrant) -> _Player:
    number = entrant.number
    return _Player(
        number,
        tournament.halves(number),
        _sides(tournament, entrant),
        frozenset(opponents(tournament, number)),
        has_had_bye(tournament, number),
        _floated(tournament, number),
    )


def _clash(one: _Player, other: _Player) -> bool:
    """Return whether both must have the same side."""
    return one.strength == other.strength == 3 and one.wants == other.wants


def _cost(one: _Player, other: _Player) -> int:
    """Return what speaks against two meeting, the more important the more: unequal points, sides,
    the same float again."""
    apart = (one.halves - other.halves) ** 2
    sides = (1, 4, 9, 16)[min(one.strength, other.strength)] if one.wants == other.wants else 0
    upper, lower = (one, other) if one.halves > other.halves else (other, one)
    again = (upper.floated > 0) + (lower.floated < 0) if one.halves != other.halves else 0
    return APART * apart + SIDES * sides + FLOATS * again


def _from_fold(places: Mapping[int, int], size: int, one: _Player, other: _Player) -> int:
    """Return how far two of a group are from meeting as its upper half meets its lower half, the
    first the first."""
    if one.halves != other.halves:
        return 0
    return (abs(places[one.number] - places[other.number]) - size // 2) ** 2


def _with_sides(one: _Player, other: _Player, place: int) -> tuple[int, int]:
    """Return South and North of a match: whose wish is stronger, else whose who is ahead.

    At first in turn.
    """
    ahead, behind = (one, other) if one.strength >= other.strength else (other, one)
    if not ahead.wants:
        return (one.number, other.number) if place % 2 == 0 else (other.number, one.number)
    return (ahead.number, behind.number) if ahead.wants == "S" else (behind.number, ahead.number)


def opponents(tournament: Tournament, entrant: int) -> Iterable[int]:
    """Return whom an entrant has met, those who did not come included."""
    return (
        opponent(match, entrant) for match in tournament.matches(entrant) if match.north is not None
    )


def has_had_bye(tournament: Tournament, entrant: int) -> bool:
    """Return whether an entrant had points without playing: a bye, or somebody who did not come."""
    return any(
        match.halves == WIN
        if match.north is None
        else not match.is_played and match_halves(tournament, match, entrant)
        for match in tournament.matches(entrant)
    )


def _sides(tournament: Tournament, entrant: Entrant) -> str:
    """Return the sides on the first board in all rounds: `S`, `N`, and `-` where it was not played."""
    letters = ""
    for round_ in tournament.rounds:
        match = next(
            (match for match in round_.matches if entrant.number in (match.south, match.north)),
            None,
        )
        board = match.boards[0] if match and match.boards else None
        letters += (
            "-"
            if board is None or not board.is_played
            else "S"
            if board.south in entrant.people
            else "N"
        )
    return letters


def _floated(tournament: Tournament, entrant: int) -> int:
    """Return whether an entrant met fewer points (1) or more (-1) in the last round. A bye is downwards."""
    before = len(tournament.rounds) - 1
    matches = tournament.rounds[-1].matches if tournament.rounds else ()
    match = next((match for match in matches if entrant in (match.south, match.north)), None)
    if match is None or match.north is None:
        return int(match is not None and match.halves == WIN)
    own, other = (
        tournament.halves(entrant, before),
        tournament.halves(opponent(match, entrant), before),
    )
    return (own > other) - (own < other)


# ---- round robin, knock-out -----------------------------------------------------------------------------------------


def _round_robin(tournament: Tournament, number: int) -> Pairs:
    """Return the circle method, with the sides of Berger's tables: nobody has one side more than
    once oftener."""
    order = tournament.order
    last = len(order) + len(order) % 2
    if number >= last:
        raise Illegal(
            Refusal.WRONG_PHASE, say("Everybody has met everybody: the tournament is over")
        )
    pairs: list[tuple[int, int]] = []
    for one in range(1, last):
        other = (number + 1 - one) % (last - 1) or last - 1
        if other == one:
            pairs.append((one, last) if one <= last // 2 else (last, one))
        elif one < other:
            pairs.append((one, other) if (one + other) % 2 else (other, one))
    seated = [
        tuple(order[seed - 1] if seed <= len(order) else None for seed in pair) for pair in pairs
    ]
    return [(one, other) if one is not None else (other or 0, None) for one, other in seated]


def _knockout(tournament: Tournament, number: int) -> Pairs:
    """Return the winners in the order of the bracket.

    First the strongest have the byes that fill it.
    """
    if number == 1:
        slots = [
            tournament.order[seed - 1] if seed <= len(tournament.order) else None
            for seed in bracket(_size(tournament))
        ]
    else:
        slots = [winner(tournament, match) for match in tournament.rounds[-1].matches]
        if any(
            who is None and match.is_played
            for who, match in zip(slots, tournament.rounds[-1].matches, strict=True)
        ):
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
            pairs.append((one if one is not None else other or 0, None))
        else:
            pairs.append(_by_sides(tournament, one, other))
    return pairs


def _size(tournament: Tournament) -> int:
    return int(1 << (len(tournament.order) - 1).bit_length())


def bracket(size: int) -> list[int]:
    """Return the seeds of a bracket in its order, so that the strongest meet as late as can be.

    >>> bracket(8)
    [1, 8, 4, 5, 2, 7, 3, 6]
    """
    seeds = [1]
    while len(seeds) < size:
        seeds = [each for seed in seeds for each in (seed, 2 * len(seeds) + 1 - seed)]
    return seeds


def _by_sides(tournament: Tournament, one: int, other: int) -> tuple[int, int]:
    """Return the sides: whoever was South less often is South now. Else the stronger one."""
    souths = [_sides(tournament, tournament.entrant(number)).count("S") for number in (one, other)]
    return (other, one) if souths[1] < souths[0] else (one, other)


_SYSTEMS: dict[System, Callable[[Tournament, int], Pairs]] = {
    System.SWISS: _swiss,
    System.ROUND_ROBIN: _round_robin,
    System.KNOCKOUT: _knockout,
}
