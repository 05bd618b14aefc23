# The two commands for newcomers are `make play` and `make test`; everything is set up on the way.

VENV := .venv
BIN := $(VENV)/bin
# The other OpenCV: Raspberry Pi OS Bookworm needs 4.11, everything else takes the newest.
VENV4 := .venv-opencv4
# What its version can change: how boards and cards are found and read, cameras' formats, and how markers are printed.
READING := board_reader boards calibrate cards colours corners frame_reader glints heap lens_models lenses order_tiles printed_boards shaded_squares simulation still_pictures
VISION := $(READING:%=tests/vision/test_%.py) $(wildcard tests/vision/test_*camera*.py) tests/vision/test_usb.py \
	tests/printing/test_sheets_cards.py tests/printing/test_sheets.py::test_every_tag_is_printed_once
# On a Raspberry Pi the libraries of camera and pins come from the distribution: the environment must see its packages.
SITE := $(shell python3 -c "import importlib.util as u; print('--system-site-packages' if u.find_spec('picamera2') or u.find_spec('lgpio') else '')" 2>/dev/null)
# Bookworm's picamera2 was built for numpy 1: there the newest OpenCV that works with it is 4.11.
PINS := $(shell python3 -c "import importlib.util as u, importlib.metadata as m; print('numpy<2 opencv-python-headless<4.12' if u.find_spec('picamera2') and m.version('numpy')[0] == '1' else '')" 2>/dev/null)
# How to install a system package here: as root, by a sudo that asks nothing, or not at all.
APT := $(shell if ! command -v apt-get >/dev/null; then :; elif [ "$$(id -u)" = 0 ]; then echo "apt-get"; elif sudo -n true 2>/dev/null; then echo "sudo -n apt-get"; fi)
ARGS ?=
JOBS ?= $(shell expr $$(nproc) + 4)
N ?= 100000
SCREENSHOTS ?= /tmp/companion-screenshots

.PHONY: play hub install uninstall deb image release lock test quick test-opencv4 check messages format lint types bench bench-bots bench-pi bench-hub appliance arm64 selfplay fuzz screenshots docs-pictures tools clean

play: $(VENV)/.runs
	@$(BIN)/companion play $(ARGS)

# A hub of many tables: a wall for a room; docs/many-tables.md. ARGS="--name 'Our club'".
hub: $(VENV)/.hub
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/companion hub $(ARGS)

# On a Raspberry Pi or Debian, as root: builds the package for this machine and has apt install it. Upgrades, going back
# to an older tree and removal are apt's; games and settings stay (`sudo apt purge tabletop-companion` asks about them).
ARCHITECTURE = $(shell dpkg --print-architecture)
install:
	@$(MAKE) deb ARCHITECTURES=$(ARCHITECTURE)
	@apt-get install -y --reinstall --allow-downgrades ./dist/tabletop-companion_$(VERSION)_$(ARCHITECTURE).deb

uninstall:
	apt-get remove -y tabletop-companion

# Debian's packages, with all that the lock names of Python inside: installed, they fetch nothing. Built on any of the two.
ARCHITECTURES ?= arm64 amd64
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
PACKAGER := .venv-package
deb: $(PACKAGER)/bin/uv
	@command -v dh >/dev/null || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq --no-install-recommends debhelper >/dev/null; } \
	|| { echo "No debhelper: sudo apt install debhelper"; exit 1; }
	@rm -rf build && $(PACKAGER)/bin/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist .
	@for architecture in $(ARCHITECTURES); do \
		rm -rf build/deb && mkdir -p build/deb/tree/companion || exit 1; \
		cp -r systemd/debian build/deb/tree/ && cp companion/*.lock build/deb/tree/companion/ || exit 1; \
		(cd build/deb/tree && PYTHON=$(abspath $(PACKAGER))/bin/python UV=$(abspath $(PACKAGER))/bin/uv \
			WHEEL=$$(ls -t ../../../dist/*.whl | head -1) dpkg-buildpackage -b -d -us -uc --host-arch $$architecture >../log 2>&1) \
			|| { tail -30 build/deb/log; exit 1; }; \
		mv build/deb/*.deb dist/; \
	done; rm -rf build; ls dist/*.deb

# A card that is ready, as root: BASE is an image of Raspberry Pi OS Lite (64 bit) that you have downloaded. DEBS=FOLDER has
# packages that it lacks, COUNTRY=DE is for its Wi-Fi. Nothing is fetched but what makes the package.
CARD = dist/tabletop-companion_$(VERSION)_card.img
CARD_TOOLS := fdisk mtools e2fsprogs xz-utils $(if $(filter-out arm64,$(ARCHITECTURE)),qemu-user-static)
MAKE_IMAGE = COUNTRY=$(COUNTRY) systemd/image/make-image "$(BASE)" $(CARD) dist/tabletop-companion_$(VERSION)_arm64.deb $(if $(DEBS),$(DEBS)/*.deb)
image:
	@[ -n "$(BASE)" ] || { echo "make image BASE=…img.xz: which image of Raspberry Pi OS Lite (64 bit)?"; exit 1; }
	@dpkg -s $(CARD_TOOLS) >/dev/null 2>&1 || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq $(CARD_TOOLS) >/dev/null; } \
	|| { echo "Not everything is here: sudo apt install $(CARD_TOOLS)"; exit 1; }
	@$(MAKE) deb ARCHITECTURES=arm64
	@$(MAKE_IMAGE)

# All that a version consists of, with its checksums; a card too, where BASE is given.
release:
	@$(if $(BASE),$(MAKE) image && $(MAKE) deb ARCHITECTURES=amd64 && xz -T0 -f $(CARD),$(MAKE) deb)
	@$(PACKAGER)/bin/uv build -q --sdist -o dist . && cd dist && sha256sum *$(VERSION)* >SHA256SUMS && cat SHA256SUMS

$(PACKAGER)/bin/uv:
	@python3 -c "import ensurepip, venv" 2>/dev/null || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq python3-venv >/dev/null; } \
	|| { echo "Python's venv is missing: sudo apt install python3-venv"; exit 1; }
	@python3 -m venv $(PACKAGER) && $(PACKAGER)/bin/python -m pip install -q --disable-pip-version-check uv

# The dependencies of an installation with their hashes, brought up to date; what a hub needs beside them; and what makes a
# wheel, which is none. All are there as wheels but nkeys: the first list itself says so to whoever installs from it.
lock: $(VENV)/.tests
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --only-binary :all: --no-binary nkeys \
		--emit-build-options --extra mqtt --extra table --upgrade \
		--custom-compile-command "make lock" pyproject.toml -o companion/requirements.lock
	sed -i '/^--only-binary/d' companion/requirements.lock  # pip, which reads in order, would take nkeys back
	$(BIN)/python -c 'import tomllib; extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
		print(*extras["table"], *(need for need in extras["hub"] if "[table]" not in need), sep="\n")' | \
		$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --only-binary :all: --no-binary nkeys \
		--constraint companion/requirements.lock --no-emit-package numpy --upgrade \
		--custom-compile-command "make lock" - -o companion/hub.lock
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' | \
		$(BIN)/uv pip compile -q --no-config --universal --python-version 3.11 --generate-hashes --only-binary :all: --upgrade \
		--custom-compile-command "make lock" - -o companion/build.lock

# Four tests more at once than there are cores, for many of them wait; a file stays together, for what its tests share,
# and files that take long come first.
test: $(VENV)/.tests tools
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# What a contributor runs in between: the ground, the rules, the panel and the layers, without a browser, rendered pictures
# or a whole service; about a minute.
QUICK := tests/core tests/games tests/hardware tests/test_layers.py
quick: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/python -m pytest -n $(JOBS) -m "not (browser or slow)" $(QUICK) $(ARGS)

test-opencv4: $(VENV4)/.tests
	$(VENV4)/bin/python -m pytest -n $(JOBS) $(VISION) $(ARGS)

check: $(VENV)/.tests lint types test

lint: $(VENV)/.tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.tests
	$(BIN)/mypy

# Brings the catalogues up to date with the sentences of the program; what is new in them is to be translated by hand.
messages: $(VENV)/.tests
	$(BIN)/pybabel -q extract -F pyproject.toml -k say -k say_n:1,2 -k sayN:1,2 --add-location=file --sort-by-file -w 120 \
		-o messages.pot companion hardware vision web
	for language in $(basename $(notdir $(wildcard companion/locale/*.po))); do $(BIN)/pybabel -q update -i messages.pot -o companion/locale/$$language.po -l $$language \
		-N -w 120 --ignore-obsolete --ignore-pot-creation-date; done
	rm messages.pot

format: $(VENV)/.tests
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What is measured lies in tests/bench and is told of in tests/README.md: `make bench ARGS=reading` measures one part.
BENCH := PATH="$(abspath $(BIN)):$$PATH" PYTHONPATH=tests $(BIN)/python -m bench
bench: $(VENV)/.tests
	$(BENCH) $(ARGS)

# How strong the opponents are: some 2,000 games of each game, HOURS.
# ARGS=--quick is a look of five minutes, ARGS="--only scouts" a part.
bench-bots: $(VENV)/.tests
	$(BENCH) bots $(ARGS)

# The service with the processor time of a Raspberry Pi 4 and of a 3B+: as root, on a machine that does nothing else.
bench-pi: $(VENV)/.tests
	$(BENCH) pi $(ARGS)

# A hub that is full, and kills of the hub, of NATS and of two tables that play with each other.
bench-hub: $(VENV)/.tests
	$(BENCH) hub $(ARGS)

# The whole machine under QEMU: installed, booted, played on, its plug pulled; the package on an emulated Raspberry Pi 3B;
# ARGS=--short for the main things. The first run fetches Debian's packages, later ones take what it has built from the
# cache (APPLIANCE_CACHE).
QEMU := qemu-system-x86 qemu-utils seabios ipxe-qemu mmdebstrap e2fsprogs
QEMU_PI := $(if $(findstring --short,$(ARGS)),,qemu-system-arm qemu-user-static device-tree-compiler cpio kmod arch-test fdisk mtools)
appliance: $(VENV)/.tests
	@command -v qemu-system-x86_64 >/dev/null && command -v mmdebstrap >/dev/null \
	&& { [ -z "$(QEMU_PI)" ] || command -v qemu-system-aarch64 >/dev/null; } \
	|| { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq $(QEMU) $(QEMU_PI) >/dev/null; } \
	|| echo "No QEMU: install $(QEMU) $(QEMU_PI) to test the whole machine."
	$(BIN)/python -m pytest -rs tests/appliance $(ARGS)

# The tests of reading, rules and pages on an emulated cortex-a72 with arm64's wheels: hours, once a week, as root.
# ARGS="tests/games/scouts" chooses; it needs qemu-user-static and mmdebstrap.
arm64: $(VENV)/.tests
	@[ -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ] || { [ -n "$(APT)" ] && $(APT) install -y -qq qemu-user-static mmdebstrap >/dev/null; } || true
	PYTHONPATH=tests $(BIN)/python -m appliance.arm64 $(ARGS)

selfplay: $(VENV)/.runs
	for game in outbuffered scouts arena kahmate binmat; do \
		$(BIN)/companion selfplay --game $$game --games 20 --seed 1 $(ARGS) || exit 1; \
	done

# Generated requests, events, files and texts; prints counts, seeds and what failed. ARGS="--only events --seed 7" chooses.
# The tests with generated examples, which are always the same in `make test`, look for others here.
fuzz: $(VENV)/.tests
	$(if $(ARGS),,$(BIN)/python -m pytest -n $(JOBS) -m hypothesis --hypothesis-profile=random)
	PYTHONPATH=tests $(BIN)/python -m fuzz --cases $(N) --jobs $(JOBS) $(ARGS)

# Pictures of every page in every state: five sizes, light and dark, three languages; some 2,600 files in a quarter of an hour.
# ARGS="--sizes phone --languages fr --only over" makes fewer.
screenshots: $(VENV)/.tests tools
	PYTHONPATH=tests $(BIN)/python -m screenshots $(SCREENSHOTS) $(ARGS)

# What docs/building.md shows, drawn anew: the printed parts by OpenSCAD. README's pictures are some of `make screenshots`.
docs-pictures: $(VENV)/.tests
	@command -v openscad >/dev/null && command -v xvfb-run >/dev/null \
	|| { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq --no-install-recommends openscad xvfb xauth fonts-liberation >/dev/null; } \
	|| { echo "No OpenSCAD: sudo apt install openscad xvfb"; exit 1; }
	PYTHONPATH=tests $(BIN)/python -m hardware_pictures $(ARGS)

# The browser, the PDF tools, the MQTT broker and axe-core of the tests; where they cannot be installed those tests are
# skipped, and the run says so at its end. Where there is Chromium without its window, tests take that: it is quicker.
TOOLS := chromium chromium-driver poppler-utils fonts-liberation mosquitto nginx-light
tools: tests/node_modules/.installed
	@export PATH=$$PATH:/usr/sbin; \
	command -v chromium >/dev/null && command -v chromedriver >/dev/null && command -v pdftoppm >/dev/null && command -v mosquitto >/dev/null && command -v nginx >/dev/null \
	|| { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq $(TOOLS) >/dev/null; } \
	|| echo "Not everything is here: install $(TOOLS) to run every test."
	@command -v chromium-headless-shell >/dev/null || { [ -n "$(APT)" ] && $(APT) install -y -qq chromium-headless-shell >/dev/null 2>&1; } || true

tests/node_modules/.installed: tests/package-lock.json
	@command -v npm >/dev/null || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq npm >/dev/null; } || true
	@if command -v npm >/dev/null; then npm ci --prefix tests --silent --no-audit --no-fund && touch $@; \
	else echo "No npm: the accessibility tests are skipped."; fi

$(VENV)/bin/python:
	@python3 -c "import sys; sys.exit(sys.version_info < (3, 11))" || { echo "Python 3.11 or newer is needed."; exit 1; }
	@python3 -c "import ensurepip, venv" 2>/dev/null || { [ -n "$(APT)" ] && $(APT) update -qq && $(APT) install -y -qq python3-venv >/dev/null; } \
	|| { echo "Python's venv is missing: sudo apt install python3-venv"; exit 1; }
	python3 -m venv $(SITE) $(VENV)

$(VENV)/.runs: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e . $(PINS:%="%")
	@touch $@

# What a hub needs, each checked against its hash: NATS answers whoever comes. nkeys is built, with what is checked as well.
$(VENV)/.hub: $(VENV)/.runs companion/hub.lock companion/build.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r companion/build.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps --no-build-isolation \
		-r companion/hub.lock
	@touch $@

$(VENV)/.tests: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]" $(PINS:%="%")
	@touch $@ $(VENV)/.runs

$(VENV4)/.tests: pyproject.toml
	python3 -m venv $(VENV4)
	$(VENV4)/bin/python -m pip install -q --disable-pip-version-check -e ".[dev]" "opencv-python-headless<4.12" "numpy<2"
	@touch $@

clean:
	rm -rf $(VENV) $(VENV4) $(PACKAGER) tests/node_modules build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
