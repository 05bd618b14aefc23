"""Which style sheets a page needs: told by what stands on it, in the order in which they apply.

A page loads `tokens.css` and `pages.css`, these, then its own. What comes later by the stream says in `data-styles`
what it needs; the page fetches that before it shows it. Where orders are asked for, the styles of what is sealed are
there before: the answer to handing in does not wait for them.
"""

from __future__ import annotations

import re

_SHEETS: tuple[tuple[str, str], ...] = (
    ("docs", r'class="(?:elsewhere|mini)'),
    ("board", r'class="(?:(?:mini )?board|view|ic piece|tile|lab)'),
    ("sums", r'class="(?:sums|tally|parts)'),
    ("steps", r'class="steps'),
    ("receipt", r'class="(?:receipt|shutter|phone[^"]* asked)'),
    ("told", r'class="(?:tell|todo|wrong|result|match|log|proof)'),
    ("forms", r'<(?:label|textarea)|class="(?:join|side-choice|plain)'),
    ("phone", r'class="phone'),
    ("slots", r'class="entry'),
    ("games", r'class="games'),
    ("sealed", r'class="phone[^"]* (?:sealed|asked)'),
    ("pieces", r'class="(?:phone|page)[^"]* pieces'),
    ("sheet", r'id="sheet"'),
    ("guide", r'class="guide'),
    ("duel", r'class="(?:duel|strength)'),
    ("cards", r'class="(?:phone|page)[^"]* cards'),
    ("hand", r'class="hold'),
    ("enter", r'id="enter"|class="cd big'),
    ("wall", r'class="page '),
    ("claims", r'class="(?:asks|claims)'),
    ("rivals", r'class="(?:rivals|ic face)'),
    ("wall-guide", r'class="lesson'),
    ("wall-lobby", r'class="page lobby'),
    ("wall-cards", r'class="page[^"]* cards'),
    ("wall-pieces", r'class="page[^"]* pieces'),
    ("chance", r'class="(?:note |refused )?chance|class="proofs chance'),
)
_ASKED = re.compile(r' data-styles="([^"]*)"')
_MARKED = tuple((name, re.compile(mark)) for name, mark in _SHEETS)


def styles_of(html: str, also: str = "") -> list[str]:
    """The names of the sheets, without their ending, with those that a part of the page asks for.

    `also` names those that nothing on the page tells of, with blanks between.
    """
    named = {*also.split(), *" ".join(_ASKED.findall(html)).split()}
    return [name for name, mark in _MARKED if name in named or mark.search(html)]
