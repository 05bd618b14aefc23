#!/bin/sh
# Installs Tabletop Companion on Raspberry Pi OS or Debian, or takes it away: sudo make install, sudo make uninstall.
# It may be run again at any time; what is in order stays as it is, games and settings always do.
#
#   WHEELS=FOLDER  Python's packages from this folder, nothing is fetched
#   KIOSK=yes      the table screen on this machine's own screen, too (needs cage and chromium)
#   GAMES=remove   uninstall: games and settings go as well
#   DESTDIR=ROOT   into another root, for tests: packages, users and running services are left alone
#   PYTHON=FILE    instead of the distribution's python3
set -eu

tree=$(cd "$(dirname "$0")/.." && pwd)
root=${DESTDIR:-}
python=${PYTHON:-/usr/bin/python3}
home=/opt/tabletop-companion
state=/var/lib/tabletop-companion
config=/etc/tabletop-companion
files=$home/current/share/tabletop-companion/systemd
units=$root/etc/systemd/system
enabled="companion.service companion-lamp.service companion-poweroff.path"
companion=/usr/local/bin/companion
[ "${KIOSK:-}" = yes ] && enabled="$enabled companion-kiosk.service"

say() { echo "companion: $*"; }
fail() { echo "companion: $*" >&2; exit 1; }
runs() { [ -z "$root" ] && [ -d /run/systemd/system ]; } # is systemd at work, and is it about this root?

# ---- install ---------------------------------------------------------------------------------------------------------

is_there() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]; }

packages() { # the distribution's, for camera and pins; only what it has
    [ -z "$root" ] || return 0
    missing=
    for package in python3-venv python3-lgpio python3-picamera2 avahi-daemon; do
        is_there "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    apt-get update -qq || say "No list of packages could be fetched: the one that is here is used."
    wanted=
    for package in $missing; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            wanted="$wanted $package"
        else
            say "This distribution has no $package: it goes without."
        fi
    done
    # shellcheck disable=SC2086 # these are several words
    [ -z "$wanted" ] || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted >/dev/null
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
    PYTHONPATH=$tree WHEELS=${WHEELS:-} "$python" -B -m companion.care.install \
        "$root$home" "$root$state/journal.sqlite" "$tree"
}

settings() { # every setting with its default, as a comment; a file that is there stays
    [ ! -e "$root$config/settings.toml" ] || return 0
    "$root$home/current/bin/python3" -I -m companion.care.settings_text "$state" >"$root$config/.settings.new"
    chmod 0640 "$root$config/.settings.new"
    [ -n "$root" ] || chown companion:companion "$config/.settings.new"
    mv "$root$config/.settings.new" "$root$config/settings.toml"
}

link() { # FILE IN: a name that always leads to the release in use
    mkdir -p "$root$(dirname "$2")"
    ln -sfn "$files/$1" "$root$2"
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
    copied=$root$files/avahi.service # avahi looks from a root of its own, where a link leads nowhere
    [ ! -e "$copied" ] || install -D -m 0644 "$copied" "$root/etc/avahi/services/tabletop-companion.service"
    mkdir -p "$root$(dirname "$companion")"
    cat >"$root$companion" <<END
#!/bin/sh
# Made by make install: the release in use, with the settings of the service.
export COMPANION_SETTINGS=$config/settings.toml
program=$home/current/bin/companion
case "\${1:-}" in
update | backup | restore | hotspot) ;; # these need root's rights, and lay them down where they touch the games
*) [ "\$(id -u)" != 0 ] || exec setpriv --reuid=companion --regid=companion --init-groups -- "\$program" "\$@" ;;
esac
exec "\$program" "\$@"
END
    chmod 0755 "$root$companion"
}

start() {
    if ! runs; then
        [ -n "$root" ] || say "No systemd is running here: the service starts with the machine."
        return 0
    fi
    systemctl daemon-reload
    if udevadm control --reload 2>/dev/null; then udevadm trigger --subsystem-match=gpio --subsystem-match=dma_heap; fi
    # shellcheck disable=SC2086 # these are several words
    systemctl restart $enabled || fail "The service has not come up: journalctl -u companion"
    say "The table is ready: $("$root$companion" --version). Its addresses: journalctl -u companion"
}

# ---- uninstall -------------------------------------------------------------------------------------------------------

remove() {
    names="companion.service companion-lamp.service companion-poweroff.path companion-poweroff.service companion-kiosk.service"
    # shellcheck disable=SC2086 # these are several words
    if runs; then systemctl stop $names 2>/dev/null || true; fi
    for unit in $names; do
        rm -f "$units/$unit" "$units"/*.wants/"$unit"
    done
    rm -f "$root/etc/udev/rules.d/60-tabletop-companion.rules" "$root/etc/avahi/services/tabletop-companion.service" \
        "$root$companion" "$root/etc/sysusers.d/tabletop-companion.conf"
    rm -rf "$root$home"
    if runs; then systemctl daemon-reload; fi
    if [ "${GAMES:-}" = remove ]; then
        rm -rf "$root$state" "$root$config"
        for user in companion companion-kiosk; do
            [ -n "$root" ] || ! getent passwd "$user" >/dev/null || userdel "$user"
        done
        say "Program, games and settings are gone."
    else
        say "The program is gone. Games are in $state, settings in $config (GAMES=remove takes them, too)."
    fi
}

# ---- what is asked for -----------------------------------------------------------------------------------------------

task=${1:-}
case $task in
install | uninstall) ;;
*) fail "Say install or uninstall: sudo make install" ;;
esac
[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail "This needs root's rights: sudo make $task"
if [ "$task" = uninstall ]; then
    remove
    exit 0
fi
umask 022
packages
"$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    fail "Python 3.11 or newer with venv is needed: sudo apt install python3-venv"
account
release
settings
service
start
