"""A whole turn, a stream and a photograph behind a real nginx that shows the table under a path of
its site.
"""

from __future__ import annotations

import http.client
from pathlib import Path
from random import Random

import pytest
from inside import session_of
from proxy_tools import needs_nginx, nginx
from service import PHONE, WALL, Client, Served, browser, sign, sit_down, tap, until
from window_tools import no_errors, text_of

from companion.core.config import Settings, WebSettings
from companion.core.kit import Seat
from companion.service.app import Companion
from companion.table.session import Phase

pytestmark = [pytest.mark.browser, needs_nginx]
NGINX = (
    "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;"
)
_ADDRESSES = """
return performance.getEntriesByType('resource').map(each => new URL(each.name))
  .filter(each => each.origin === location.origin && !each.pathname.startsWith(arguments[0] + '/')).map(String);
"""


def test_a_game_is_played_under_a_path(tmp_path: Path) -> None:
    path = "/table"
    web = WebSettings(host="127.0.0.1", port=0, proxies=("127.0.0.1",), path=path)

    def answers(port: int) -> bool:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            line.request("GET", f"{path}/health")
            return line.getresponse().status == 200
        except OSError:
            return False
        finally:
            line.close()

    with (
        Companion(Settings(state_dir=str(tmp_path), web=web), simulate=True) as companion,
        nginx(
            tmp_path,
            companion.server.port,
            answers,
            more=NGINX,
            at=f"{path}/",
        ) as port,
        browser(PHONE) as south,
        browser(WALL) as wall,
    ):
        service = Served()
        service.url, service.host_key = f"http://127.0.0.1:{port}{path}", companion.host_key
        table = companion.table
        sit_down(south, service, "south", "Mara")
        Client(service.url).post("/api/seat/north/take", name="Jonas")
        wall.get(f"{service.url}/")
        service.new_game("outbuffered")
        until("the orders", lambda: table.view().phase is Phase.ORDERS)
        tap(south, "#example")
        until("a whole order", lambda: text_of(south, "#hand-in, #commit") == "Hand in")
        tap(south, "#hand-in, #commit")
        until("the order is in", lambda: table.view().seats[Seat.SOUTH].sealed_at)
        session, before = session_of(table), sign(wall)
        action = session.playing.random_action(session.state, Seat.NORTH, Random(4))
        table.hand_in(Seat.NORTH, table.view().moment, session.playing.format(action))
        until("the first step on the table screen", lambda: sign(wall) != before)
        photographs = Client(service.url)
        until("a photograph", lambda: photographs.get("/api/photographs")["photographs"])
        table.resign(Seat.NORTH)
        wall.get(f"{service.url}/history/1")
        width = "return document.querySelector('.photo img')?.naturalWidth"
        until("the photograph on the page", lambda: wall.execute_script(width))
        for window in (south, wall):
            assert window.execute_script(_ADDRESSES, path) == []
        no_errors(south, wall)
