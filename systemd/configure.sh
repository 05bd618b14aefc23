#!/bin/sh
# Runs after the package is unpacked, and on `dpkg-reconfigure tabletop-companion`. Writes the initial settings, and
# passes their port to services that cannot read them. DESTDIR=ROOT is another root, for tests.
set -eu

root=${DESTDIR:-}
python=${PYTHON:-/usr/lib/tabletop-companion/bin/python3}
files=${FILES:-/usr/lib/tabletop-companion/share/tabletop-companion/systemd}
state=/var/lib/tabletop-companion
settings=$root/etc/tabletop-companion

as_companion() { # the service owns the folder: root would follow any links that it creates there
    if [ -n "$root" ]; then "$@"; else setpriv --reuid=companion --regid=companion --init-groups -- "$@"; fi
}

# the initial settings; an existing file stays
if [ ! -e "$settings/settings.toml" ]; then
    text=$("$python" -I -m companion.maintenance.settings.template "$state")
    # shellcheck disable=SC2016 # for the inner shell
    printf '%s\n' "$text" | as_companion sh -c \
        'umask 027; rm -f "$0/.settings.new" && cat >"$0/.settings.new" && mv "$0/.settings.new" "$0/settings.toml"' \
        "$settings"
fi

port=$(as_companion "$python" -I -c 'import sys; from pathlib import Path
from companion.core.config import load_settings; print(load_settings(Path(sys.argv[1])).web.port)' \
    "$settings/settings.toml" 2>/dev/null || echo 8080)
mkdir -p "$root/etc/avahi/services" "$root/etc/systemd/system/companion-kiosk.service.d"
sed "s/8080/$port/" "$files/avahi.service" >"$root/etc/avahi/services/tabletop-companion.service"
printf '[Service]\nEnvironment=PORT=%s\n' "$port" >"$root/etc/systemd/system/companion-kiosk.service.d/port.conf"
