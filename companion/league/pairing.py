"""Pairings of the next round: Swiss, round robin, and a knock-out bracket.

Swiss pairing is a minimum-cost matching over all players at once, as in bbpPairings. Nobody meets
the same opponent twice or gets two byes (see `_had_bye`). What else is wanted is expressed by
costs. From the most important to the least:

1. Nobody plays one side for the third time running, or in three games more than the other side.
2. A bye goes to somebody with few points.
3. Opponents have equal points.
4. Sides are balanced.
5. Within a group of equal points, the upper half meets the lower half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations

from companion.core.errors import SystemTrouble, wrong_phase
from companion.core.i18n import say
from companion.league.tournament import (
    WIN_HALF_POINTS,
    BoardVerdict,
    Entrant,
    Match,
    MatchBoard,
    PairingSystem,
    Tournament,
    match_half_points,
    match_winner,
    opponent_of,
)

# Weights of the costs of a match, the least important first. Each exceeds the sum of all less
# important costs of 250 matches.

# Cost if both players should play the same side next. It is multiplied by the square of the weaker
# lean (see `_SwissPlayer.lean`), because the player with that lean cannot change sides.
SIDE_COST = 10**9
# Cost if the players have different points. It is multiplied by the square of the difference in
# half points.
POINTS_COST = 10**13
# Cost of a bye. It is multiplied by the player's half points.
BYE_COST = 10**20
# Cost if both players must play the same side next.
CLASH_COST = 10**24
# Upper bound of the cost of a match, from which costs are subtracted to get positive weights.
MAX_COST = 10**27
# Minimum lean of a player who must change sides. A surplus of two games on one side, or two games
# in a row there, raises the lean above this value (see `_SwissPlayer.lean`).
MIN_FORCED_LEAN = 10
# Verdicts of boards on which somebody has withdrawn, by whether South is there and North is there.
_VERDICTS_WITHOUT_GAME = {
    (True, False): BoardVerdict.SOUTH_BY_DEFAULT,
    (False, True): BoardVerdict.NORTH_BY_DEFAULT,
    (False, False): BoardVerdict.NEITHER,
}
# Numbers of the entrants at South and North of each match. North is None for a bye.
EntrantPairs = list[tuple[int, int | None]]
# The bracket of a knock-out in order, in which neighbours meet. A slot is the number of an entrant,
# or None for nobody.
Slots = list[int | None]


def next_matches(tournament: Tournament) -> tuple[Match, ...]:
    """Return the matches of the next round.

    Raises `Illegal` if no pairing is possible. For a Swiss round, raises `SystemTrouble` if the
    library for it is not installed. Only a hub has it.
    """
    round_number = len(tournament.rounds) + 1
    pairs = _PAIRS_BY_SYSTEM[tournament.system](tournament, round_number)
    return tuple(_new_match(tournament, round_number, south, north) for south, north in pairs)


def entrants_by_rating(tournament: Tournament) -> list[Entrant]:
    """Return all entrants by rating, strongest first."""
    return sorted(tournament.entrants, key=lambda entrant: (-entrant.rating, entrant.number))


def _new_match(tournament: Tournament, round_number: int, south: int, north: int | None) -> Match:
    """Return a match of a round between two entrants, or the bye of `south` if `north` is None."""
    if north is None:
        # in a round robin everybody has the same number of byes, so they give no points
        is_worth_a_win = tournament.system is not PairingSystem.ROUND_ROBIN
        return Match(south, None, bye_half_points=WIN_HALF_POINTS if is_worth_a_win else 0)
    entrants = tournament.entrant(south), tournament.entrant(north)
    is_present = {
        person: entrant.plays_in(round_number) for entrant in entrants for person in entrant.people
    }
    people_by_board = zip(*(entrant.people for entrant in entrants), strict=True)
    boards = []
    for index, people in enumerate(people_by_board):
        # the sides of a team alternate from board to board
        at_south, at_north = people if index % 2 == 0 else reversed(people)
        # None if both people are there, because then they play
        verdict = _VERDICTS_WITHOUT_GAME.get((is_present[at_south], is_present[at_north]))
        boards.append(MatchBoard(at_south, at_north, verdict=verdict))
    return Match(south, north, tuple(boards))


# ---- Swiss ---------------------------------------------------------------------------------------


def _swiss_pairs(tournament: Tournament, round_number: int) -> EntrantPairs:
    """Return the pairs of minimum cost (see the module).

    Raises `Illegal` if somebody would be left over, and `SystemTrouble` if the library is not
    installed.
    """
    try:
        from rustworkx import PyGraph, max_weight_matching  # noqa: PLC0415 - only a hub has it, and only a round needs it
    except ImportError:
        raise SystemTrouble(
            say("The programs for a hub are not installed: pip install 'tabletop-companion[hub]'")
        ) from None
    players = [
        _SwissPlayer(tournament, entrant)
        for entrant in entrants_by_rating(tournament)
        if entrant.plays_in(round_number)
    ]
    # the sort is stable: with equal points the stronger player stays first
    players.sort(key=lambda player: -player.half_points)
    # In the graph, each player is a node, and each match that may be played is an edge with its
    # cost. The best pairing is the cheapest set of edges that covers each node once.
    graph = PyGraph(multigraph=False)
    graph.add_nodes_from(players)
    if len(players) % 2:
        # this node, which comes after all players, stands for the bye
        graph.add_node(None)
    graph.add_edges_from(list(_possible_matches(players)))
    # the library maximises weight, so subtract the cost
    matching = max_weight_matching(
        graph, max_cardinality=True, weight_fn=lambda cost: MAX_COST - cost
    )
    # Every edge covers two nodes. If a node is left over, somebody has no match.
    if 2 * len(matching) < len(graph):
        raise wrong_phase(
            say(
                "Not everybody can be given a new opponent any more: end the tournament after this "
                "round"
            )
        )
    pairs: EntrantPairs = []
    for node, other_node in sorted(tuple(sorted(edge)) for edge in matching):
        # the node after the last player is the bye
        if other_node == len(players):
            pairs.append((players[node].number, None))
        else:
            pairs.append(_assign_sides(players[node], players[other_node], node))
    return pairs


def _possible_matches(players: Sequence[_SwissPlayer]) -> Iterator[tuple[int, int, int]]:
    """Yield the edges of the graph: the indexes of two players who may meet, and the cost.

    The index after the last player stands for the bye, if the number of players is odd.
    """
    if len(players) % 2:
        # a bye costs more for players with more points, and with equal points for stronger players
        bye = len(players)
        for index, player in enumerate(players):
            if not player.had_bye:
                yield index, bye, BYE_COST * player.half_points + bye - index
    group_sizes = Counter(player.half_points for player in players)
    for index, other_index in combinations(range(len(players)), 2):
        player = players[index]
        other = players[other_index]
        if other.number in player.opponents:
            continue
        cost = _match_cost(player, other)
        if player.half_points == other.half_points:
            # within a group of equal points, the first of the upper half meets the first of the
            # lower half: their indexes differ by half the size of the group
            cost += (other_index - index - group_sizes[player.half_points] // 2) ** 2
        yield index, other_index, cost


class _SwissPlayer:
    """What pairing needs to know of an entrant: points, past sides, opponents and bye."""

    def __init__(self, tournament: Tournament, entrant: Entrant) -> None:
        self.number = number = entrant.number
        self.half_points = tournament.half_points(number)
        self.sides = _played_sides(tournament, number)
        """The sides so far, oldest first, such as `SNS`."""
        self.opponents = frozenset(opponents(tournament, number))
        self.had_bye = _had_bye(tournament, number)

    @property
    def lean(self) -> int:
        """How strongly this player should change sides, as a signed number.

        It is positive if the player should play North, because the player was South more often than
        North, or as often but in the last game. From `MIN_FORCED_LEAN` on, up or down, the player
        must change sides.
        """
        balance = self.sides.count("S") - self.sides.count("N")
        last_side = {"S": 1, "N": -1}.get(self.sides[-1:], 0)
        # the last side counts half as much as a surplus of one game
        lean = 2 * balance + last_side
        # after two games in a row on one side, or a surplus of two, the player must change sides
        is_repeated = self.sides[-2:] in ("SS", "NN")
        if is_repeated or abs(balance) > 1:
            surplus = last_side if is_repeated else balance
            lean += 2 * MIN_FORCED_LEAN * (1 if surplus > 0 else -1)
        return lean


def _match_cost(first: _SwissPlayer, second: _SwissPlayer) -> int:
    """Return the cost of pairing two players. It is 0 for equal points and opposite leans."""
    cost = POINTS_COST * (first.half_points - second.half_points) ** 2
    if first.lean * second.lean > 0:
        # both should play the same side, and the one with the weaker lean will not
        ignored_lean = min(abs(first.lean), abs(second.lean))
        is_clash = ignored_lean >= MIN_FORCED_LEAN
        cost += CLASH_COST if is_clash else SIDE_COST * ignored_lean**2
    return cost


def _assign_sides(first: _SwissPlayer, second: _SwissPlayer, node: int) -> tuple[int, int]:
    """Return the numbers of South and North of a match.

    The player who leans more to North sits there. If both lean equally, sides alternate by `node`.
    """
    is_first_south = first.lean < second.lean
    if first.lean == second.lean:
        is_first_south = node % 2 == 0
    return (first.number, second.number) if is_first_south else (second.number, first.number)


def opponents(tournament: Tournament, entrant_number: int) -> Iterable[int]:
    """Yield the opponents of an entrant, including those who did not come."""
    for match in tournament.matches(entrant_number):
        if match.north is not None:
            yield opponent_of(match, entrant_number)


def _had_bye(tournament: Tournament, entrant_number: int) -> bool:
    """Return whether an entrant has scored without playing.

    An entrant scores so by a full bye, or because the opponent did not come. In tournaments of
    version 1.0 somebody could rest for half a point, which does not count.
    """
    for match in tournament.matches(entrant_number):
        if match.north is None:
            had_points = match.bye_half_points == WIN_HALF_POINTS
        else:
            had_points = (
                not match.is_played and match_half_points(tournament, match, entrant_number) > 0
            )
        if had_points:
            return True
    return False


def _played_sides(tournament: Tournament, entrant_number: int) -> str:
    """Return the sides that an entrant has played, oldest first, such as `SNS`.

    Each match is a letter, `S` or `N`. For a team, the letter is the side on the first board.
    """
    people = tournament.entrant(entrant_number).people
    letters = ""
    for match in tournament.matches(entrant_number):
        if match.boards and match.boards[0].is_played:
            letters += "S" if match.boards[0].south in people else "N"
    return letters


# ---- round robin, knock-out ----------------------------------------------------------------------


def _round_robin_pairs(tournament: Tournament, round_number: int) -> EntrantPairs:
    """Return the pairs of the circle method, with the sides of the Berger tables.

    The number of games that somebody plays as South and as North differs by at most one.

    >>> order = (1, 2, 3, 4, 5, 6)
    >>> tournament = Tournament(1, "Cup", PairingSystem.ROUND_ROBIN, "scouts", order=order)
    >>> _round_robin_pairs(tournament, 1)
    [(1, 6), (2, 5), (3, 4)]
    >>> _round_robin_pairs(tournament, 2)
    [(6, 4), (5, 3), (1, 2)]
    """
    order = tournament.order
    # A slot is the number of an entrant, or None. Whoever is paired with None has a bye.
    *circle, last = order if len(order) % 2 == 0 else (*order, None)
    if round_number > len(circle):
        raise wrong_phase(say("Everybody has met everybody: the tournament is over"))
    # Each round turns the circle, which is everybody but the last, by about half a turn. In the
    # second round of six players, whose circle is 1 to 5, the row is 4 5 1 2 3 6.
    half = len(order) - len(order) // 2
    start = (round_number - 1) * half % len(circle)
    row = [*circle[start:], *circle[:start], last]
    # the first half meets the second one from its end: first and last, second and last but one
    second_half = row[half:]
    slot_pairs = list(zip(row[:half], reversed(second_half), strict=True))
    # the last entrant, whose place is always the same, changes sides from round to round
    if round_number % 2 == 0:
        slot_pairs[0] = slot_pairs[0][::-1]
    return [_match_or_bye(south, north) for south, north in slot_pairs]


def _match_or_bye(south: int | None, north: int | None) -> tuple[int, int | None]:
    """Return two slots as a pair. If one of them is empty, the other one has a bye as South."""
    if south is None:
        assert north is not None  # two empty slots never meet
        return north, None
    return south, north


def _knockout_pairs(tournament: Tournament, round_number: int) -> EntrantPairs:
    """Return the pairs of the next round, in which neighbours in the bracket meet.

    Raises `Illegal` if a match that was played has no winner, if nobody came to two neighbouring
    matches, or if only one entrant is left.
    """
    slots = _seeded_slots(tournament) if round_number == 1 else _last_winners(tournament)
    if len(slots) < 2:
        raise wrong_phase(say("Only one is left: the tournament is over"))
    pairs: EntrantPairs = []
    for first, second in zip(slots[::2], slots[1::2], strict=True):
        if first is None and second is None:
            raise wrong_phase(say("Nobody came to two matches in a row: end the tournament here"))
        # whoever was South less often sits at South
        first_souths, second_souths = (
            _played_sides(tournament, entrant).count("S") if entrant else 0
            for entrant in (first, second)
        )
        slots_by_side = (first, second) if first_souths <= second_souths else (second, first)
        pairs.append(_match_or_bye(*slots_by_side))
    return pairs


def _seeded_slots(tournament: Tournament) -> Slots:
    """Return the slots of the first round of a knock-out.

    Their number is a power of two. Empty slots are byes, which the strongest entrants get.
    """
    entrants = tournament.order
    size = 1 << (len(entrants) - 1).bit_length()
    return [entrants[seed - 1] if seed <= len(entrants) else None for seed in bracket_seeds(size)]


def _last_winners(tournament: Tournament) -> Slots:
    """Return the winners of the last round of a knock-out, with None where nobody came.

    Raises `Illegal` if a match that was played has no winner.
    """
    matches = tournament.rounds[-1].matches
    winners = [match_winner(tournament, match) for match in matches]
    for winner, match in zip(winners, matches, strict=True):
        if winner is None and match.is_played:
            raise wrong_phase(say("A match has no winner: the director has to say who goes on"))
    return winners


def bracket_seeds(size: int) -> list[int]:
    """Return the seeds in bracket order, so that the strongest meet as late as possible.

    >>> bracket_seeds(8)
    [1, 8, 4, 5, 2, 7, 3, 6]
    """
    seeds = [1]
    while len(seeds) < size:
        # a seed and its opponent add up to the number of seeds plus one
        seeds = [slot for seed in seeds for slot in (seed, 2 * len(seeds) + 1 - seed)]
    return seeds


_PAIRS_BY_SYSTEM: dict[PairingSystem, Callable[[Tournament, int], EntrantPairs]] = {
    PairingSystem.SWISS: _swiss_pairs,
    PairingSystem.ROUND_ROBIN: _round_robin_pairs,
    PairingSystem.KNOCKOUT: _knockout_pairs,
}
