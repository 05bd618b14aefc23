#!/bin/sh
# Installs Tabletop Companion on Raspberry Pi OS or Debian, or takes it away: sudo make install, sudo make uninstall.
# It may be run again at any time; what is in order stays as it is, games and settings always do. Debian's package is
# laid down by apt, and uses `configure` alone.
#
#   WHEELS=FOLDER  Python's packages from this folder, nothing is fetched
#   KIOSK=yes      the table screen on this machine's own screen, too (needs cage and chromium)
#   GAMES=remove   uninstall: games and settings go as well
#   DESTDIR=ROOT   into another root, for tests: packages, users and running services are left alone
#   PYTHON=FILE    instead of the distribution's python3
#   CURRENT=FOLDER the program's environment, of Debian's package
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
root=${DESTDIR:-}
python=${PYTHON:-/usr/bin/python3}
home=/opt/tabletop-companion
state=/var/lib/tabletop-companion
config=/etc/tabletop-companion
current=${CURRENT:-$home/current}
files=$current/share/tabletop-companion/systemd
units=$root/etc/systemd/system
enabled="companion.service companion-lamp.service companion-poweroff.path"
companion=/usr/local/bin/companion
if [ "${KIOSK:-}" = yes ] || [ -L "$units/multi-user.target.wants/companion-kiosk.service" ]; then
    enabled="$enabled companion-kiosk.service"
fi
hotspot=/etc/NetworkManager/system-connections/tabletop-companion-hotspot.nmconnection
changed= # not empty: what runs must begin anew

say() { echo "companion: $*"; }
fail() { echo "companion: $*" >&2; exit 1; }
runs() { [ -z "$root" ] && [ -d /run/systemd/system ]; } # is systemd at work, and is it about this root?

# ---- install ---------------------------------------------------------------------------------------------------------

is_there() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

packages() { # the distribution's, for the camera; only what it has
    [ -z "$root" ] || return 0
    missing=
    for package in python3-venv openssl python3-picamera2 avahi-daemon; do
        is_there "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    apt-get update -qq || say "The list of packages could not be updated: the one on this machine is used."
    wanted=
    for package in $missing; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            wanted="$wanted $package"
        else
            say "This distribution has no $package: the installation goes on without it."
        fi
    done
    # shellcheck disable=SC2086 # these are several words
    [ -z "$wanted" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null ||
        say "Not all of these packages could be installed:$wanted. The installation goes on without them."
}

account() { # the service's own user, in the groups that pins and cameras belong to
    [ -z "$root" ] || return 0
    install -D -m 0644 "$tree/systemd/companion.sysusers" /etc/sysusers.d/tabletop-companion.conf
    systemd-sysusers /etc/sysusers.d/tabletop-companion.conf
    install -d -m 0700 -o companion -g companion "$state"
    install -d -m 0750 -o companion -g companion "$config"
}

release() { # an environment beside those that are there
    mkdir -p "$root$home" "$root$state" "$root$config"
    before=$(readlink "$root$home/current" || true)
    PYTHONPATH=$tree WHEELS=${WHEELS:-} "$python" -B -m companion.maintenance.releases.install \
        "$root$home" "$root$state/journal.sqlite" "$tree"
    if [ "$(readlink "$root$home/current")" != "$before" ] || [ -e "$root$home/pending.json" ]; then
        changed=yes # also where the last run was cut off before the start
    fi
}

as_companion() { # the folder is the service's own: there root would follow whatever links it lays
    if [ -n "$root" ]; then "$@"; else setpriv --reuid=companion --regid=companion --init-groups -- "$@"; fi
}

settings() { # every setting with its default, as a comment; a file that is there stays
    [ ! -e "$root$config/settings.toml" ] || return 0
    text=$("$root$current/bin/python3" -I -m companion.maintenance.settings.template "$state")
    # shellcheck disable=SC2016 # the inner shell's own
    printf '%s\n' "$text" | as_companion sh -c \
        'umask 027; rm -f "$0/.settings.new" && cat >"$0/.settings.new" && mv "$0/.settings.new" "$0/settings.toml"' \
        "$root$config"
}

port() { # of the pages
    as_companion "$root$current/bin/python3" -I -c 'import sys; from pathlib import Path
from companion.core.config import load_settings; print(load_settings(Path(sys.argv[1])).web.port)' \
        "$root$config/settings.toml" 2>/dev/null || echo 8080
}

link() { # FILE IN: a name that always leads to the release in use
    [ "$(readlink "$root$2" || true)" != "$files/$1" ] || return 0
    mkdir -p "$root$(dirname "$2")"
    ln -sfn "$files/$1" "$root$2"
    changed=yes
}

service() { # units and their friends; enabled by links, which also works where no systemd runs
    for file in "$root$files"/companion*.service "$root$files"/companion*.path; do
        [ ! -e "$file" ] || link "$(basename "$file")" "/etc/systemd/system/$(basename "$file")"
    done
    for unit in $enabled; do
        [ -e "$root$files/$unit" ] || continue
        targets=$(sed -n 's/^WantedBy=//p' "$root$files/$unit")
        for target in $targets; do
            mkdir -p "$units/$target.wants"
            ln -sfn "../$unit" "$units/$target.wants/$unit"
        done
    done
    link 60-tabletop-companion.rules /etc/udev/rules.d/60-tabletop-companion.rules
    mkdir -p "$root$(dirname "$companion")"
    install -m 0755 "$root$files/companion" "$root$companion"
}

tell_port() { # to those that cannot read the settings
    port=$(port)
    mkdir -p "$root/etc/avahi/services" "$units/companion-kiosk.service.d"
    # Written anew: avahi looks from a root of its own, where a link leads nowhere.
    sed "s/8080/$port/" "$root$files/avahi.service" >"$root/etc/avahi/services/tabletop-companion.service"
    told="[Service]
Environment=PORT=$port"
    if [ "$(cat "$units/companion-kiosk.service.d/port.conf" 2>/dev/null)" != "$told" ]; then
        echo "$told" >"$units/companion-kiosk.service.d/port.conf"
        changed=yes
    fi
}

start() {
    if ! runs; then
        [ -n "$root" ] || say "No systemd is running here: the service starts with the machine."
        return 0
    fi
    systemctl daemon-reload
    if udevadm control --reload 2>/dev/null; then udevadm trigger --subsystem-match=gpio --subsystem-match=dma_heap; fi
    # shellcheck disable=SC2086 # these are several words
    systemctl "${changed:+re}start" $enabled || fail "The service did not start: journalctl -u companion"
    say "The table is ready: $("$root$companion" --version). Its addresses: journalctl -u companion"
}

# ---- uninstall -------------------------------------------------------------------------------------------------------

close_hotspot() { # while there is a program that can
    if [ -z "$root" ] && [ -e "$hotspot" ]; then
        "$companion" hotspot off || say "The hotspot could not be removed: $hotspot"
    fi
}

remove() {
    names="companion.service companion-lamp.service companion-poweroff.path companion-poweroff.service companion-kiosk.service"
    # shellcheck disable=SC2086 # these are several words
    if runs; then systemctl stop $names 2>/dev/null || true; fi
    close_hotspot
    for unit in $names; do
        rm -f "$units/$unit" "$units"/*.wants/"$unit"
    done
    rm -rf "$units/companion-kiosk.service.d"
    rm -f "$root/etc/udev/rules.d/60-tabletop-companion.rules" "$root/etc/avahi/services/tabletop-companion.service" \
        "$root$companion" "$root/etc/sysusers.d/tabletop-companion.conf"
    rm -rf "$root$home"
    if runs; then systemctl daemon-reload; fi
    if [ "${GAMES:-}" = remove ]; then
        rm -rf "$root$state" "$root$state-kiosk" "$root$config"
        for user in companion companion-kiosk; do
            [ -n "$root" ] || ! getent passwd "$user" >/dev/null || userdel "$user"
        done
        say "Program, games and settings are gone."
    else
        say "The program is gone. Games are in $state, settings in $config (GAMES=remove deletes them, too)."
    fi
}

# ---- what is asked for -----------------------------------------------------------------------------------------------

task=${1:-}
case $task in
install | uninstall | configure) ;;
*) fail "Say install or uninstall: sudo make install" ;;
esac
[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "This needs root's rights: sudo make $task"
if [ "$task" = uninstall ]; then
    remove
    exit 0
fi
if [ "$task" = configure ]; then
    settings
    tell_port
    exit 0
fi
[ -n "$root" ] || ! is_there tabletop-companion || fail "Debian's package is installed here: sudo apt remove tabletop-companion, \
then make install; or stay with it. Games and settings stay either way."
umask 022
packages
"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Python 3.11 or newer with venv is needed: sudo apt install python3-venv"
account
release
settings
service
tell_port
start
