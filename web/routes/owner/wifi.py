"""The page that connects the machine to a Wi-Fi. If that fails, the table's own Wi-Fi returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import render_template, request

from companion.core.errors import wrong_phase
from companion.core.network import Wifi
from companion.maintenance.own_wifi import OwnWifi
from web.routes.route import TableRouteGroup, ask_for_key, form, get, host_page


@dataclass
class WifiPage(TableRouteGroup):
    """The routes under `/wifi`, for the owner.

    While there is no owner, people at the machine or in its own Wi-Fi may use them, too.
    """

    name = "wifi"
    own_wifi: OwnWifi

    @get("/wifi", inner_guard=host_page)
    def page(self) -> Any:
        """Ask for a Wi-Fi and its password."""
        return self._page() if self._may_change_wifi() else ask_for_key("/wifi")

    @form("/wifi", inner_guard=host_page, form_page="_page")
    def join(self, name: str, password: str, hidden: str) -> Any:
        """Try to connect to a Wi-Fi. Whoever may not do that is asked for the owner's key.

        A browser in the table's own Wi-Fi loses this connection. It learns whether it has worked on
        this page when the own Wi-Fi returns, or in the new Wi-Fi.
        """
        if not self._may_change_wifi():
            return ask_for_key("/wifi")
        self.own_wifi.join(Wifi(name.strip(), password, bool(hidden)))
        if self.own_wifi.trouble:
            raise wrong_phase(self.own_wifi.trouble)
        return self._page()

    def _may_change_wifi(self) -> bool:
        return self._auth.is_host() or self.page_context.may_become_owner()

    def _page(self, error: str = "") -> str:
        is_new = self.page_context.may_become_owner()
        urls = self.page_context.join_urls()
        return render_template(
            "wifi.html",
            error=error or self.own_wifi.trouble,
            # after a refusal the typed name stays in the form
            name=request.form.get("name", "").strip() if error else "",
            # in the new Wi-Fi the machine has another address, but keeps its `.local` name
            url_after_switch=next((url for url in urls if ".local" in url), urls[-1]),
            host_key=self._auth.host_key if is_new else "",
        )
