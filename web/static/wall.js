// Screens that everybody sees: the voice of the table screen, the tables and standings on a hub's wall, and the lobby.
import { readSetting, storeSetting } from './page.js';

// ---- the voice ----

// After a tap on its key for sound, the table screen speaks the lines of the table, each once. Browsers permit speech only after
// a tap. The machine's own screen (kiosk) needs no tap.
{
  const SETTING = 'voice';
  const MAX_SPOKEN_LINES = 2; // maximum number of lines that are spoken of those that arrive together
  const key = document.getElementById('sound');
  const isKiosk = document.documentElement.classList.contains('kiosk');
  const streamWithoutVoice = document.body.dataset.live;
  let isOn = false;
  let lastNumber = Infinity; // lines from before this page was opened are not spoken

  const voice = () => document.getElementById('voice');
  const lines = () => [...(voice()?.children ?? [])].map(line => ({ number: Number(line.dataset.number), text: line.textContent }));
  const maySpeak = () => voice()?.dataset.volume !== undefined;
  const canSpeak = () => 'speechSynthesis' in window && speechSynthesis.getVoices().length > 0;

  const isWanted = () => isKiosk || readSetting(SETTING) === 'on';

  // Follow the stream whose address says whether this screen speaks. The machine's own voice is silent meanwhile.
  function changeStream() {
    const separator = streamWithoutVoice.includes('?') ? '&' : '?';
    const live = isOn ? `${streamWithoutVoice}${separator}voice` : streamWithoutVoice;
    if (document.body.dataset.live === live) return;
    document.body.dataset.live = live;
    document.dispatchEvent(new Event('follow'));
  }

  function speak(text) {
    const { volume, speed } = voice().dataset;
    const utterance = Object.assign(new SpeechSynthesisUtterance(text), {
      lang: document.documentElement.lang, volume: Number(volume), rate: Number(speed),
    });
    utterance.onerror = event => { if (event.error === 'not-allowed') switchVoice(false); };
    speechSynthesis.speak(utterance);
  }

  // Speak the lines that have arrived since the last call, at most the last two.
  function speakNewLines() {
    const newLines = lines().filter(line => line.number > lastNumber);
    lastNumber = Math.max(lastNumber === Infinity ? 0 : lastNumber, ...lines().map(line => line.number));
    if (!maySpeak()) {
      if (isOn) speechSynthesis.cancel();
    } else if (isOn && newLines.length) {
      if (speechSynthesis.pending) speechSynthesis.cancel(); // new lines replace those that wait
      newLines.slice(-MAX_SPOKEN_LINES).forEach(line => speak(line.text));
    }
    paintKey();
  }

  function paintKey() {
    if (!key) return;
    key.hidden = isOn || !canSpeak() || !maySpeak();
  }

  // Switch the voice on, if the browser can speak, or off. All pages of this browser remember it.
  function switchVoice(isSwitchedOn) {
    isOn = isSwitchedOn && canSpeak();
    if (isOn) storeSetting(SETTING, 'on');
    else if (!isSwitchedOn) storeSetting(SETTING, null);
    changeStream();
    paintKey();
  }

  key?.addEventListener('click', () => {
    switchVoice(true);
    if (isOn) speak(key.dataset.hello);
  });
  document.addEventListener('keydown', event => { if (event.key === 'm' && isOn) switchVoice(false); });

  // The voice begins once the table permits its screen to speak.
  let hasBegun = false;
  function begin() {
    if (hasBegun || !(isKiosk || maySpeak())) return;
    hasBegun = true;
    window.speechSynthesis?.addEventListener?.('voiceschanged', () => (isWanted() && !isOn ? switchVoice(true) : paintKey()));
    document.addEventListener('shown', speakNewLines);
    speakNewLines();
    if (isWanted()) switchVoice(true); // if the browser demands a tap first, the key appears again
  }
  document.addEventListener('shown', begin);
  begin();

  // The machine's own screen stays awake while it shows this page.
  const stayAwake = () => { if (isKiosk && !document.hidden) navigator.wakeLock?.request('screen').catch(() => {}); };
  document.addEventListener('visibilitychange', stayAwake);
  stayAwake();
}

// ---- the tables on a hub's wall ----

// If there are more tables than fit, they are shown page by page. A table that calls is on every page.
const TILES_PAGE_MS = 12000;
const MAX_TILES = 12;
const sheet = new CSSStyleSheet();
let firstTile = 0; // first tile of the shown page
document.adoptedStyleSheets.push(sheet);

// A wide screen shows pages that fit above the sign. On narrower ones people scroll.
const isWide = matchMedia('(min-width:1101px) and (min-aspect-ratio:5/4)');

// Show the page that begins with `firstTile`. Return the index of the tile after the page.
function showTiles() {
  const tiles = [...document.querySelectorAll('.tables>.t')];
  const others = tiles.filter((tile) => !tile.matches('.call'));
  const freePlaces = Math.max(1, MAX_TILES - (tiles.length - others.length));
  if (firstTile >= others.length) firstTile = 0;
  const hidden = isWide.matches && tiles.length > MAX_TILES
    ? others.filter((_, index) => index < firstTile || index >= firstTile + freePlaces) : [];
  // Tiles are hidden by a style sheet, because the next fragment would remove attributes from them.
  const selectors = hidden.map((tile) => `.tables>:nth-child(${tiles.indexOf(tile) + 1})`);
  sheet.replaceSync(selectors.length ? `${selectors.join()}{display:none}` : '');
  return firstTile + freePlaces;
}

// Show the next page, or the first one after the last. While somebody points at a table, it stays.
export function turnTiles() {
  if (document.querySelector('.tables:is(:hover,:focus-within)')) return;
  firstTile = showTiles();
  showTiles();
}

document.addEventListener('shown', showTiles);
isWide.addEventListener('change', showTiles);
setInterval(turnTiles, TILES_PAGE_MS);
showTiles();

// ---- standings ----

// The standings beside the tables. If there are more rows than fit above the sign, they are shown page by page.
const RANKS_PAGE_MS = 8000;
const MIN_ROWS = 3;
let firstRow = 0; // first row of the shown page

// Show the page that begins with `firstRow`. Return the index of the row after the page.
function showRanks() {
  const list = document.querySelector('.ranks ol');
  const sign = document.querySelector('.hub>.sign');
  if (!list || !sign) return;
  const rows = [...list.children];
  if (firstRow >= rows.length) firstRow = 0;
  const topPx = list.getBoundingClientRect().top + scrollY;
  const belowListPx = list.closest('.side').getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
  const gapPx = parseFloat(getComputedStyle(list.closest('.side')).rowGap);
  const availablePx = sign.getBoundingClientRect().top - gapPx - topPx - belowListPx;
  let heightPx = 0;
  let shownRows = 0;
  for (const row of rows.slice(firstRow)) {
    const rowPx = row.getBoundingClientRect().height;
    if (shownRows >= MIN_ROWS && heightPx + rowPx > availablePx) break;
    heightPx += rowPx;
    shownRows += 1;
  }
  // The height is set on the page, because the next fragment would remove attributes from the list.
  document.documentElement.style.setProperty('--ranks', `${Math.ceil(heightPx)}px`);
  list.scrollTop = rows[firstRow] ? rows[firstRow].offsetTop - rows[0].offsetTop : 0;
  return firstRow + shownRows;
}

// Show the next page, or the first one after the last.
export function turnRanks() {
  firstRow = showRanks() ?? 0;
  showRanks();
}

document.addEventListener('shown', showRanks);
addEventListener('resize', showRanks);
setInterval(turnRanks, RANKS_PAGE_MS);
showRanks();

// ---- the lobby ----

// The lobby has the time of day, help for phones, and a symbol that leads the owner on. The symbol must be held for a second, so
// that nobody opens the owner's pages by accident.
{
  const HOLD_MS = 1000;
  const CLOCK_INTERVAL_MS = 5000;
  const HELP_AFTER_MS = 180_000;
  let holdTimer = 0;
  let wasHeld = false;

  function paintClock() {
    const clock = document.getElementById('clock');
    if (!clock) return;
    const now = new Date();
    clock.textContent = `${String(now.getHours()).padStart(2, '0')}:${String(now.getMinutes()).padStart(2, '0')}`;
  }
  document.addEventListener('shown', paintClock);
  setInterval(paintClock, CLOCK_INTERVAL_MS);
  paintClock();

  // If nobody sits down for three minutes, show help for phones that do not find the table.
  let emptySinceMs = performance.now();
  function showHelp() {
    const help = document.getElementById('not-found'); // only on the page while nobody sits
    if (!help) emptySinceMs = performance.now();
    else if (performance.now() - emptySinceMs >= HELP_AFTER_MS) help.hidden = false;
  }
  document.addEventListener('shown', showHelp);
  setInterval(showHelp, CLOCK_INTERVAL_MS);

  const symbolOf = ({ target }) => target.closest?.('[data-hold]');
  document.addEventListener('pointerdown', event => {
    const symbol = symbolOf(event);
    clearTimeout(holdTimer);
    wasHeld = false;
    if (symbol) holdTimer = setTimeout(() => { wasHeld = true; location.assign(symbol.href); }, HOLD_MS);
  });
  for (const end of ['pointerup', 'pointercancel']) document.addEventListener(end, () => clearTimeout(holdTimer));
  document.addEventListener('click', event => { // by keyboard (no detail) it leads on at once
    if (symbolOf(event) && event.detail && !wasHeld) event.preventDefault();
  });
  document.addEventListener('contextmenu', event => { if (symbolOf(event)) event.preventDefault(); });
}
