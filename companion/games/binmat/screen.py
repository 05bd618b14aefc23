"""The printed kit of BINMAT, and the screens of the full game: lanes, hands, keys and the sign.

The classes that are filled here are explained in `companion/core/kit.py` and
`companion/games/screen.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from companion.core.i18n import joined, say
from companion.core.kit import SEATS, Board, Card, Deck, Kit, Seat, Side
from companion.games.binmat.actions import (
    ACTION_PARTS,
    COMBAT,
    DISCARD,
    DRAW,
    PASS,
    PLAY_DOWN,
    PLAY_UP,
    has_combat_stack,
    legal_actions,
)
from companion.games.binmat.cards import CARD_TEXTS, DECK, Cards
from companion.games.binmat.events import ATTACKER, DEFENDER, ROLES
from companion.games.binmat.state import HIDDEN, LANES, BinmatOptions, State, mask_state
from companion.games.screen import CardChoice, CardUi, ChoiceKey, Count, Lane, Pile

SIDES: Mapping[Seat, Side] = {
    DEFENDER: Side(ROLES[DEFENDER], "ice", "#8ED6EA", "disc"),
    ATTACKER: Side(ROLES[ATTACKER], "crimson", "#A8143C", "diamond"),
}

# Name of each suit's drawing in `companion.core.drawings`.
SUIT_DRAWINGS: Mapping[str, str] = {
    "&": "suit-form",
    "%": "suit-kin",
    "+": "suit-data",
    "!": "suit-chaos",
    "^": "suit-void",
    "#": "suit-choice",
}

# Marker id of the first card. Cards begin at 100, as `companion/core/kit.py` says.
FIRST_MARKER = 100

# The six lanes as a board, as the camera sees it. Each lane is a file with two zones: the
# defender's stack on rank 1, the attacker's on rank 2. A zone is as deep as a fan of eight cards:
# seven steps of 17 mm and a card of 88 mm. It is 7 mm wider than a card of 63 mm.
BOARD = Board(
    say("six lanes"), 6, 2, square_mm=70.0, gap_mm=2.0, corners=(16, 17, 18, 19), depth_mm=208.0
)

# Rank of each seat's zone of a lane, in which its cards are fanned out for the camera.
ZONE_RANKS = {DEFENDER: 0, ATTACKER: 1}

KIT = Kit(
    "binmat",
    say("BINMAT"),
    BOARD,
    SIDES,
    faces=(),
    notes=(
        say(
            "Put the six lanes side by side, 0 to 5 from the defender’s left. Lane decks and lane "
            "discards lie at the defender’s end, the attacker deck and the attacker discard beside "
            "the lanes."
        ),
        say("A stack grows away from its owner: every card lies on the one played before it."),
        say(
            "For a combat, turn both stacks of the lane face up and fan them out: the oldest card "
            "at its owner’s edge, each next one 17 mm further on, so that the value, suit and "
            "marker of every card can be seen."
        ),
        say(
            "A zone holds a fan of eight. Lay any further cards on the eighth: the phone asks for "
            "those the camera cannot see."
        ),
    ),
    deck=Deck(
        tuple(
            Card(card, CARD_TEXTS[card][:-1], card[1], SUIT_DRAWINGS[card[1]], FIRST_MARKER + index)
            for index, card in enumerate(DECK)
        ),
        zones=ZONE_RANKS,
    ),
)

# The only action that has a key of its own, beside the key of its kind.
_DRAW_FROM_ATTACKER_DECK = "da"
# Keys of a page, by the kind of their actions, or by the action itself.
_KEYS = {
    PLAY_DOWN: ChoiceKey("down", say("Play face down"), is_main=True),
    PLAY_UP: ChoiceKey("up", say("Face up")),
    DRAW: ChoiceKey("draw", say("Draw")),
    _DRAW_FROM_ATTACKER_DECK: ChoiceKey("deck", say("Attacker deck")),
    COMBAT: ChoiceKey("combat", say("Combat")),
    DISCARD: ChoiceKey("discard", say("Discard")),
    PASS: ChoiceKey("pass", say("Pass")),
}


def player_on_turn(options: BinmatOptions, turns_left: int) -> str:
    """Return the name of the player on turn.

    If a side has several players, they are numbered from 1 and take its turns in order.
    """
    seat = options.seat(turns_left)
    players = options.attackers if seat is ATTACKER else options.defenders
    name = SIDES[seat].name
    if players == 1:
        return name
    # Number of the side's own turns so far, modulo its number of players.
    own_turns = (options.turns - turns_left) // 2
    return say("{colour} {number}", colour=name, number=own_turns % players + 1)


def card_ui(state: State, viewer: Seat | None) -> CardUi:
    """Return what a viewer sees of lanes, piles and hands, and what he may tap when on turn."""
    seat = state.seat
    visible = mask_state(state, viewer)
    may_act = viewer is seat and not state.outcome
    south_hand, north_hand = (say("hand {cards}", cards=len(hand)) for hand in state.hands)
    deck_size = len(state.attacker_deck)
    deck_text = say("deck {cards}", cards=deck_size) if deck_size else ""
    return CardUi(
        count=Count(state.turns_left, state.options.turns, say("turns left")),
        acting="" if state.outcome else player_on_turn(state.options, state.turns_left),
        lanes=tuple(_build_lane(visible, lane) for lane in LANES),
        piles={
            say("Attacker deck"): _build_pile(visible.attacker_deck),
            say("Attacker discard"): state.attacker_discard,
        },
        hands={owner: _build_pile(visible.hands[owner.number]) for owner in SEATS},
        facts={DEFENDER: south_hand, ATTACKER: joined(", ", (north_hand, deck_text))},
        keys=() if viewer is None else _keys(state, viewer),
        choices=_choices(state) if may_act else (),
        sign=_sign(state),
    )


def _sign(state: State) -> str:
    """Return what the table waits for, in at most 40 characters.

    It depends only on numbers of cards, which everybody may see.
    """
    if state.outcome:
        return ""
    seat = state.seat
    role = ROLES[seat]
    # In the hackmud edition the defender cannot declare combat.
    may_declare = seat is ATTACKER or not state.is_hackmud
    if may_declare and any(has_combat_stack(state, lane) for lane in LANES):
        return say("{role!c}: draw, play or declare combat", role=role)
    if state.hands[seat.number]:
        return say("{role!c}: draw or play", role=role)
    return say("{role!c}: draw a card", role=role)


def _keys(state: State, seat: Seat) -> tuple[ChoiceKey, ...]:
    """Return the keys of a seat in this edition, including those that cannot be used now."""
    kinds = [PLAY_DOWN, PLAY_UP, DRAW]
    if seat is ATTACKER:
        kinds.append(_DRAW_FROM_ATTACKER_DECK)
    if seat is ATTACKER or not state.is_hackmud:
        kinds.append(COMBAT)
    if state.is_hackmud:
        kinds.append(DISCARD)
    kinds.append(PASS)
    return tuple(_KEYS[kind] for kind in kinds)


def _choices(state: State) -> tuple[CardChoice, ...]:
    """Return the legal actions of the seat on turn, each with the taps that make it."""
    choices = []
    for action in legal_actions(state, state.seat):
        _, card, lane = ACTION_PARTS[action]
        # A pass has no lane, and the piles of the attacker are beside the lanes.
        lane_name = str(lane) if lane in LANES else None
        choices.append(CardChoice(action, _find_key(action).name, card or None, lane_name))
    return tuple(choices)


def command_word(action: str) -> str:
    """Return the label of an action's key, without card and lane."""
    return _find_key(action).label


def _find_key(action: str) -> ChoiceKey:
    return _KEYS.get(action) or _KEYS[ACTION_PARTS[action].kind]


def _build_pile(cards: Cards) -> Pile:
    """Return cards for the screen, with None for a back."""
    return tuple(None if card == HIDDEN else card for card in cards)


def _build_lane(visible: State, lane: int) -> Lane:
    return Lane(
        str(lane),
        north=_build_pile(visible.attacker_stacks[lane]),
        # The screen lists the top card last, as in stacks.
        deck=_build_pile(visible.decks[lane])[::-1],
        south=_build_pile(visible.defender_stacks[lane]),
        discard=visible.discards[lane],
    )
