"""Options, rules and player aids of BINMAT in words for people.

The rules retell the rulebook, and say how the hackmud edition differs.
"""

from companion.core.i18n import joined, say
from companion.core.kit import Seat
from companion.games.aids import AidPoint, AidRow, Extras, PlayerAid
from companion.games.base import Example, OptionRow, Rule, figures
from companion.games.binmat.state import BinmatOptions

OPTION_ROWS = (
    OptionRow(
        "way",
        say("Way to play"),
        say(
            "Full game: phones hold the hands. Real cards: your own deck on the table. Turns and "
            "seconds are counted here, and combats are worked out."
        ),
        ((say("Full game"), "full"), (say("Real cards"), "referee")),
    ),
    OptionRow(
        "edition",
        say("Edition"),
        say(
            "Rulebook: the rules for playing with cards. Hackmud: the game as it has been played "
            "there since 2021."
        ),
        ((say("Rulebook"), "rulebook"), (say("Hackmud"), "hackmud")),
    ),
    OptionRow(
        "seconds",
        say("Seconds a turn"),
        say("How long a turn may take. Casual: as long as you like."),
        (("5", 5.0), ("10", 10.0), ("30", 30.0), (say("Casual"), 0.0)),
    ),
    OptionRow(
        "turns",
        say("Turns"),
        say("Counted down for both sides together. The defender begins."),
        figures(110, 78, 40),
    ),
    OptionRow(
        "timeout",
        say("When the time is over"),
        say("Pass: the turn ends. Alarm: it only sounds."),
        ((say("Pass"), "pass"), (say("Alarm"), "alarm")),
    ),
    OptionRow(
        "defenders",
        say("Defenders"),
        say("Players on the defender’s side. They take its turns one after the other."),
        figures(1, 2, 3, 4),
    ),
    OptionRow(
        "attackers",
        say("Attackers"),
        say("Players on the attacker’s side. They take its turns one after the other."),
        figures(1, 2, 3, 4),
    ),
)

# Options of the examples, which are combats with real cards.
_REAL_CARDS = {"way": "referee", "seconds": 0.0}

RULES = (
    Rule(
        "setting-up",
        say("Setting up"),
        say(
            "Shuffle 78 cards and deal six lane decks of thirteen at the defender’s end. Lanes are "
            "numbered 0 to 5 from the defender’s left. The decks of lanes 3, 4 and 5 lie face up, "
            "the others face down. Leave room for a discard pile behind every lane deck, and "
            "beside the lanes for the attacker deck and its discard pile."
        ),
    ),
    Rule(
        "cards",
        say("Cards"),
        say(
            "Six suits of thirteen cards: numbers 2 to 10, and the modifiers TRAP @, WILD *, "
            "BOUNCE ? and BREAK >. Suits: FORM &, KIN %, DATA +, CHAOS !, VOID ^, CHOICE #."
        ),
    ),
    Rule(
        "turns",
        say("Turns"),
        say(
            "Defender and attacker alternate, and the defender begins. A turn is one action: draw "
            "a card, play a card, declare combat, or pass. Turns are counted down from 110. A turn "
            "takes five seconds at most. A turn that takes longer is a pass, or only sounds the "
            "alarm."
        ),
    ),
    Rule(
        "drawing",
        say("Drawing"),
        say(
            "The defender draws from any lane deck. The attacker draws from lane decks without a "
            "defender stack before them, and from the attacker deck."
        ),
    ),
    Rule(
        "reshuffle",
        say("Empty decks"),
        say(
            "When a card is to be drawn from an empty deck, its discard pile is shuffled into it "
            "first. In the rulebook edition the deck lies face down from then on. If both are "
            "empty, there is nothing to draw. In the hackmud edition an attacker who draws from "
            "such a lane deck wins."
        ),
    ),
    Rule(
        "hidden",
        say("What is open"),
        say(
            "The top card of a face-up deck, face-up stacks, discard piles, and the number of "
            "cards in each place are open to all. Hands and face-down stacks are known to their "
            "owners, the order of a deck to nobody. In the hackmud edition the top cards of the "
            "lane decks 3, 4 and 5 lie face up always, also after a reshuffle."
        ),
    ),
    Rule(
        "playing-defender",
        say("The defender plays a card"),
        say(
            "Put it on any of your six stacks: face up if the stack lies face up, else face down. "
            "In the hackmud edition the first card of a stack may be played either way."
        ),
    ),
    Rule(
        "playing-attacker",
        say("The attacker plays a card"),
        say(
            "Put it face down on any of your six stacks. Only BOUNCE and BREAK may be played face "
            "up. In the hackmud edition any card may be, and it stays face up in the stack."
        ),
    ),
    Rule(
        "break-up",
        say("BREAK face up"),
        say(
            "A BREAK goes face up on a stack of yours that holds a card, and combat begins there "
            "at once. The attacker stack must hold a card. The defender’s stack may not hold a "
            "face-up BREAK already, and the defender never plays a BREAK on an empty stack, not "
            "even face down. The attacker, too, plays a BREAK face down only on a stack that holds "
            "a card."
        ),
    ),
    Rule(
        "bounce-up",
        say("BOUNCE face up"),
        say(
            "The attacker may play a BOUNCE face up on an empty stack. The defender stack there "
            "turns face up and stays so, its BOUNCEs go to the attacker discard, the BOUNCE played "
            "goes to the lane discard. It is no combat: TRAPs do not act. In the hackmud edition "
            "it is one."
        ),
    ),
    Rule(
        "combat",
        say("Combat"),
        say(
            "Combat needs a card in the attacker stack. The defender stack may be empty. Both "
            "stacks are turned up. Then come TRAPs, BOUNCEs, sums and damage. A defender stack "
            "that survives stays face up, and an emptied one is face down again. In the rulebook "
            "edition either side declares combat. In the hackmud edition only the attacker does, "
            "and a defender stack is enough: an empty attacker stack has power 0 and does no "
            "damage."
        ),
    ),
    Rule(
        "traps",
        say("TRAP"),
        say(
            "Each TRAP that is turned up now and still lies in its stack sends the last card "
            "played on the other stack to its owner’s discard pile: attacker discard or lane "
            "discard. A TRAP that lay face up before does nothing. The side that began the combat "
            "springs its TRAPs first."
        ),
        Example(
            ("c", "@& 4% 4+ / 8# 8!"),
            _REAL_CARDS,
            stage=1,
            caption=say("The TRAP takes 8!, which was played last: 8 against 8 is left."),
        ),
    ),
    Rule(
        "bounce",
        say("BOUNCE"),
        say(
            "A BOUNCE in either stack ends the combat without damage. BOUNCEs go to the other "
            "side’s discard pile, and the rest of the attacker stack goes to the attacker discard. "
            "The defender’s other cards stay."
        ),
    ),
    Rule(
        "power",
        say("Attack power"),
        say(
            "Add up the number cards of each stack. If the sum is a power of two, its exponent is "
            "the attack power: 2 has 1, 4 has 2, 8 has 3, and so on. Every other sum, and an empty "
            "stack, has power 0."
        ),
        Example(("c", "4& 4% / 2^ 2#"), _REAL_CARDS),
    ),
    Rule(
        "wild",
        say("WILD"),
        say(
            "Each WILD lifts the sum of its stack to the next higher power of two. In a stack "
            "without number cards the first WILD counts 2."
        ),
        Example(("c", "3& *% / 4^ *!"), _REAL_CARDS),
    ),
    Rule(
        "damage",
        say("Damage"),
        say(
            "A weaker attacker stack goes to the lane discard, and the defender stack stays. "
            "Otherwise the damage is the difference of the powers plus one. With a BREAK in the "
            "attacker stack it is the attacker’s power. Each point of damage sends the last card "
            "played on the defender stack to the attacker discard. When there is none, it sends "
            "the top card of the lane deck to the attacker’s hand. Then the attacker stack goes to "
            "the attacker discard. In the hackmud edition, a BREAK in either stack makes the "
            "damage the larger of two numbers: the attacker’s power and the number of cards in the "
            "defender stack. Two powers of 0 do no damage. An empty lane deck is reshuffled."
        ),
        Example(("c", "5& 3% >+ / 4^ 2#"), _REAL_CARDS),
    ),
    Rule(
        "discarding",
        say("Discarding"),
        say(
            "Hackmud edition: the defender may discard a card to a lane discard pile. The attacker "
            "may discard one to the attacker discard and then draws two from the attacker deck. "
            "That deck or its pile must hold a card beforehand."
        ),
    ),
    Rule(
        "passing",
        say("Passing"),
        say(
            "Hackmud edition: the second and every further pass in a row of a player costs the "
            "hand, the newest card first: the attacker’s to the attacker discard, the defender’s "
            "each to the smallest lane discard."
        ),
    ),
    Rule(
        "clock",
        say("Real cards"),
        say(
            "With real cards the program counts the turns. Ready ends a turn, on either pad, the "
            "table’s button, a phone or the table screen. Holding ready, or A, declares combat: "
            "the clock stops until it is over. The camera then reads both stacks, laid open in "
            "fans, or you tap the cards on a phone. The table screen says what happens. Hands move "
            "the cards."
        ),
    ),
    Rule(
        "winning",
        say("Winning"),
        say(
            "The attacker wins when damage takes a card from a lane deck that has none. The "
            "defender wins when all turns are over, or when the attacker can draw from no lane "
            "deck and has no card in hand or stacks."
        ),
    ),
)

_MODIFIER_ROWS = (
    AidRow(say("TRAP"), say("takes their last card away"), notation="@"),
    AidRow(say("WILD"), say("up to the next power of two"), notation="*"),
    AidRow(say("BOUNCE"), say("ends combat without damage"), notation="?"),
    AidRow(say("BREAK"), say("damage is the whole power"), notation=">"),
)
_POWER = AidPoint(
    say("Power: only these sums count"),
    say("2 is 1, 4 is 2, 8 is 3, 16 is 4, 32 is 5, 64 is 6. Every other sum is 0."),
)
_COMBAT = AidPoint(
    say("Combat"),
    say("Turn both stacks face up. TRAPs first, then BOUNCEs, then the sums, then damage."),
)
_DAMAGE = AidPoint(
    say("Damage"),
    say(
        "Attacker’s power less the defender’s, and one more. First it takes stack cards, then "
        "cards of the lane deck."
    ),
)


def build_extras(options: BinmatOptions) -> Extras:
    """Return a player aid for each role, with the number of turns and the edition's actions."""
    defender_actions = attacker_actions = say("Draw, play a card, declare combat, or pass.")
    attacker_faces = say("Cards go face down. Only BOUNCE and BREAK may go face up.")
    if options.is_hackmud:
        defender_actions = say("Draw, play a card, discard one, or pass.")
        attacker_actions = say("Draw, play a card, declare combat, discard one, or pass.")
        attacker_faces = say("Cards go face down or face up.")
    defender_cards = say(
        "Draw from any lane deck. A card goes face down, or face up on a stack that lies face up."
    )
    attacker_draws = say("Draw from lanes that nobody defends, or from the attacker deck.")
    attacker_cards = joined(" ", [attacker_draws, attacker_faces])
    defender_goal = say("Hold every lane for {turns} turns.", turns=options.turns)
    attacker_goal = say("Empty one lane, and strike it once more.")
    return Extras(
        {
            Seat.SOUTH: _player_aid(defender_goal, defender_actions, defender_cards),
            Seat.NORTH: _player_aid(attacker_goal, attacker_actions, attacker_cards),
        }
    )


def _player_aid(goal: str, actions: str, cards: str) -> PlayerAid:
    """Return the aid of one role. Everything but these three sentences is the same for both."""
    points = (
        AidPoint(say("One action a turn"), actions),
        AidPoint(say("Your cards"), cards),
        _COMBAT,
        _POWER,
        _DAMAGE,
    )
    return PlayerAid(goal, say("Signs"), _MODIFIER_ROWS, points)
