// Screens that everybody looks at: the table screen's voice, and the tables and standings on a hub's wall.
import { keepSetting, setting } from './page.js';

// ---- the voice ----

// The table screen's voice: says what the table says, once each, after a tap on the key that asks for sound.
// Browsers let a page speak only after a tap; the kiosk's is told not to ask for one.
{
  const ON = 'voice';
  const MOST_WAITING = 2;
  const key = document.getElementById('sound');
  const isKiosk = document.documentElement.classList.contains('kiosk');
  const silent = document.body.dataset.live;
  let isOn = false;
  let last = Infinity; // what was said before this page was there is not said again

  const place = () => document.getElementById('voice');
  const lines = () => [...(place()?.children ?? [])].map(line => ({ number: Number(line.dataset.number), text: line.textContent }));
  const maySpeak = () => place()?.dataset.volume !== undefined;
  const canSpeak = () => 'speechSynthesis' in window && speechSynthesis.getVoices().length > 0;

  const wanted = () => isKiosk || setting(ON) === 'on';

  // The service lets the machine be silent while a screen speaks: the stream tells it.
  function follow() {
    const live = isOn ? `${silent}${silent.includes('?') ? '&' : '?'}voice` : silent;
    if (document.body.dataset.live === live) return;
    document.body.dataset.live = live;
    document.dispatchEvent(new Event('follow'));
  }

  function speak(text) {
    const { volume, speed } = place().dataset;
    const spoken = Object.assign(new SpeechSynthesisUtterance(text), {
      lang: document.documentElement.lang, volume: Number(volume), rate: Number(speed),
    });
    spoken.onerror = event => { if (event.error === 'not-allowed') turn(false); };
    speechSynthesis.speak(spoken);
  }

  function shown() {
    const news = lines().filter(line => line.number > last);
    last = Math.max(last === Infinity ? 0 : last, ...lines().map(line => line.number));
    if (!maySpeak()) {
      if (isOn) speechSynthesis.cancel();
    } else if (isOn && news.length) {
      if (speechSynthesis.pending) speechSynthesis.cancel(); // the newest wins
      news.slice(-MOST_WAITING).forEach(line => speak(line.text));
    }
    paint();
  }

  function paint() {
    if (!key) return;
    key.hidden = isOn || !canSpeak() || !maySpeak();
  }

  function turn(on) {
    isOn = on && canSpeak();
    if (isOn) keepSetting(ON, 'on');
    else if (!on) keepSetting(ON, null);
    follow();
    paint();
  }

  key?.addEventListener('click', () => {
    turn(true);
    if (isOn) speak(key.dataset.hello);
  });
  document.addEventListener('keydown', event => { if (event.key === 'm' && isOn) turn(false); });

  // A table that does not let its screen speak is not asked for anything.
  let isThere = false;
  function begin() {
    if (isThere || !(isKiosk || maySpeak())) return;
    isThere = true;
    window.speechSynthesis?.addEventListener?.('voiceschanged', () => (wanted() && !isOn ? turn(true) : paint()));
    document.addEventListener('shown', shown);
    shown();
    if (wanted()) turn(true); // where that is not allowed without a tap, the key comes back
  }
  document.addEventListener('shown', begin);
  begin();

  // A screen in the kiosk never sleeps while the page is there.
  const wake = () => { if (isKiosk && !document.hidden) navigator.wakeLock?.request('screen').catch(() => {}); };
  document.addEventListener('visibilitychange', wake);
  wake();
}

// ---- the tables of a room ----

// The tables on a wall: twelve at a time, a page every twelve seconds; a table that calls stays in sight.
const TILES_MS = 12000;
const MOST = 12;
const sheet = new CSSStyleSheet();
let firstTiles = 0;
document.adoptedStyleSheets.push(sheet);

// A wall that stands still above its sign; anything narrower is scrolled, as a phone is.
const wall = matchMedia('(min-width:1101px) and (min-aspect-ratio:5/4)');

function showTiles() {
  const tiles = [...document.querySelectorAll('.tables>.t')];
  const others = tiles.filter((tile) => !tile.matches('.call'));
  const room = Math.max(1, MOST - (tiles.length - others.length));
  if (firstTiles >= others.length) firstTiles = 0;
  const hidden = wall.matches && tiles.length > MOST
    ? others.filter((_, place) => place < firstTiles || place >= firstTiles + room) : [];
  // By a rule of its own: the tiles' attributes are the server's, and what follows the room would take them away.
  const names = hidden.map((tile) => `.tables>:nth-child(${tiles.indexOf(tile) + 1})`);
  sheet.replaceSync(names.length ? `${names.join()}{display:none}` : '');
  return firstTiles + room;
}

// The next page; behind the last one the first. Whoever points at a table keeps it.
export function turnTiles() {
  if (document.querySelector('.tables:is(:hover,:focus-within)')) return;
  firstTiles = showTiles();
  showTiles();
}

document.addEventListener('shown', showTiles);
wall.addEventListener('change', showTiles);
setInterval(turnTiles, TILES_MS);
showTiles();

// ---- standings ----

// The standings beside the wall: as many rows as there is room for above the sign; the others come page by page.
const RANKS_MS = 8000;
const LEAST = 3;
let firstRanks = 0;

function showRanks() {
  const list = document.querySelector('.ranks ol');
  const sign = document.querySelector('.hub>.sign');
  if (!list || !sign) return;
  const rows = [...list.children];
  if (firstRanks >= rows.length) firstRanks = 0;
  const top = list.getBoundingClientRect().top + scrollY;
  const behind = list.closest('.side').getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
  const gap = parseFloat(getComputedStyle(list.closest('.side')).rowGap);
  const room = sign.getBoundingClientRect().top - gap - top - behind;
  let height = 0;
  let shown = 0;
  for (const row of rows.slice(firstRanks)) {
    const more = row.getBoundingClientRect().height;
    if (shown >= LEAST && height + more > room) break;
    height += more;
    shown += 1;
  }
  // The list's own attributes are the server's: what follows the table would take them away.
  document.documentElement.style.setProperty('--ranks', `${Math.ceil(height)}px`);
  list.scrollTop = rows[firstRanks] ? rows[firstRanks].offsetTop - rows[0].offsetTop : 0;
  return firstRanks + shown;
}

// The next page; behind the last one the first.
export function turnRanks() {
  firstRanks = showRanks() ?? 0;
  showRanks();
}

document.addEventListener('shown', showRanks);
addEventListener('resize', showRanks);
setInterval(turnRanks, RANKS_MS);
showRanks();

// ---- the lobby ----

// The time of day, and the owner's symbol: it leads on after a finger has rested on it for a second.
{
  const HOLD_MS = 1000;
  const CLOCK_MS = 5000;
  const ALONE_MS = 180_000;
  let held = 0;
  let isHeld = false;

  function paintClock() {
    const place = document.getElementById('clock');
    if (!place) return;
    const now = new Date();
    place.textContent = `${String(now.getHours()).padStart(2, '0')}:${String(now.getMinutes()).padStart(2, '0')}`;
  }
  document.addEventListener('shown', paintClock);
  setInterval(paintClock, CLOCK_MS);
  paintClock();

  // What helps phones that do not find the table, when nobody has sat down for three minutes.
  let alone = performance.now();
  function help() {
    const place = document.getElementById('not-found');
    if (!place) alone = performance.now();
    else if (performance.now() - alone >= ALONE_MS) place.hidden = false;
  }
  document.addEventListener('shown', help);
  setInterval(help, CLOCK_MS);

  const symbolOf = ({ target }) => target.closest?.('[data-hold]');
  document.addEventListener('pointerdown', event => {
    const symbol = symbolOf(event);
    clearTimeout(held);
    isHeld = false;
    if (symbol) held = setTimeout(() => { isHeld = true; location.assign(symbol.href); }, HOLD_MS);
  });
  for (const end of ['pointerup', 'pointercancel']) document.addEventListener(end, () => clearTimeout(held));
  document.addEventListener('click', event => { // by keyboard it leads on at once
    if (symbolOf(event) && event.detail && !isHeld) event.preventDefault();
  });
  document.addEventListener('contextmenu', event => { if (symbolOf(event)) event.preventDefault(); });
}
