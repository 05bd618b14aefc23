// What all pages share: sentences, requests, the browser's storage, keys and forms that send requests, and the checks of receipts
// and of chance.
import { sha256 } from './sha256.js';

// ---- sentences ----

// Sentences are translated by a catalogue from the service, whose keys are the English patterns.
const language = document.documentElement.lang;
const translations = language === 'en' ? {} : await import(`./words.${language}.js`).then(
  module => module.default,
  () => {
    dispatchEvent(new Event('unloaded')); // early.js reloads the page, which is in English until then
    return {};
  },
);

// Return a sentence in the page's language, with `parts` in the places of its {names}.
export function say(pattern, parts = {}) {
  return (translations[pattern] || pattern).replace(/\{(\w+)\}/g, (_, name) => parts[name]);
}

const plural = new Intl.PluralRules(language);

// Return a sentence about n things. Languages differ in which numbers are singular: French has 0 and 1.
export function sayN(one, many, n, parts = {}) {
  const isOne = plural.select(n) === 'one';
  return say(isOne ? one : many, { ...parts, n });
}

// ---- requests ----

// Prefix of every address: empty, or the path under which a proxy serves these pages.
export const root = document.documentElement.dataset.root;

const REQUEST_TIMEOUT_MS = 20000;
const REFUSAL_MS = 8000; // how long a refusal is shown
let refusalTimer = 0;

// Show beside the keys why a request was refused. An empty text removes what is shown. `link` has the address and the name of a
// paragraph of the rules. `isHint` is for a tap that was right but too early, which is no refusal.
export function showRefusal(text, link, isHint = false) {
  const line = document.getElementById('said');
  if (!line) return;
  line.classList.toggle('hint', isHint);
  line.textContent = text;
  if (text && link) {
    const rule = document.createElement('a');
    [rule.href, rule.textContent] = link;
    line.append(' ', rule);
  }
  clearTimeout(refusalTimer);
  if (text) refusalTimer = setTimeout(() => { document.getElementById('said').textContent = ''; }, REFUSAL_MS);
}

// Send a JSON request. Return the fields of the answer, with `ok` and with `status`, which is 0 if the table did not answer. If
// the request was not carried out, `ok` is false and `error` has the message.
export async function request(url, body = {}) {
  try {
    const answer = await fetch(root + url, {
      method: 'POST',
      signal: AbortSignal.timeout?.(REQUEST_TIMEOUT_MS),
      keepalive: true, // the release of a key is sent even if the page closes meanwhile
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(body),
    });
    const content = await answer.json();
    if (!answer.ok && !content.error?.message) throw new Error('Not an answer of the table');
    return { ok: answer.ok, status: answer.status, ...content };
  } catch (error) {
    const message = error.name === 'TimeoutError' // a browser has six connections to one server, and each window's stream takes one
      ? say('No answer from the table: close other windows of these pages, then try again')
      : say('No connection to the table: try again');
    return { ok: false, status: 0, error: { message } };
  }
}

// Send a JSON request after a tap. Show why it was refused, if it was, instead of the reason for an earlier refusal.
export async function post(url, body) {
  const answer = await request(url, body);
  const { message = '', link, reason } = answer.error ?? {};
  showRefusal(message, link, reason === 'lesson');
  return answer;
}

// ---- the browser's storage ----

// Drafts, which a player has entered but not handed in, are stored for this tab. If the browser stores nothing or has no
// room left, this page alone remembers them.
const pageStorage = new Map();

function tabStorage() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

// Store a draft under a name. `recall` returns it, or null.
export function remember(name, value) {
  pageStorage.set(name, value);
  try {
    tabStorage()?.setItem(name, value);
  } catch { /* no room: this page still has it */ }
}

export const recall = name => pageStorage.get(name) ?? tabStorage()?.getItem(name) ?? null;

// Remove all drafts for whose names `isOld` returns true.
export function forget(isOld) {
  const stored = tabStorage();
  for (const name of new Set([...pageStorage.keys(), ...Object.keys(stored ?? {})])) {
    if (!isOld(name)) continue;
    pageStorage.delete(name);
    stored?.removeItem(name);
  }
}

// Return a setting, which all pages of this browser share. Null stands for the default.
export function readSetting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

// Store a setting, or remove it for null.
export function storeSetting(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* a browser that stores nothing has the defaults */ }
}

// ---- keys ----

// Keys send requests: `data-post` has the address, and `data-body` the JSON. A key with `data-edge` acts at the touch instead
// of at the click. A key with `data-space` is pressed by the space bar, too. A key with `data-sure` asks a question before
// it acts. A key with `data-arm` only shows a second key, which acts.
const QUESTION_MS = 8000; // an unanswered question disappears

// Ask before something that cannot be undone. The question covers the page's sign. The harmless answer has the focus and is
// on the side of the key that was tapped, so that a second tap does no harm. `act` runs after the other answer.
export function askFirst(key, { question, yes, no }, act) {
  const { left, right } = key.getBoundingClientRect();
  const dialog = Object.assign(document.createElement('dialog'), { className: 'sure' });
  const sign = Object.assign(document.createElement('p'), { className: 'sign down', id: 'sure', textContent: question });
  const row = Object.assign(document.createElement('div'), { className: 'sure-keys' });
  const button = text => Object.assign(document.createElement('button'), { className: 'key', type: 'button', textContent: text });
  const [yesKey, noKey] = [button(yes), button(no)];
  const isLeft = left + right < innerWidth;
  yesKey.dataset.yes = '';
  noKey.dataset.no = '';
  dialog.setAttribute('aria-labelledby', 'sure');
  row.append(...(isLeft ? [noKey, yesKey] : [yesKey, noKey]));
  dialog.append(sign, row);
  const pageSign = document.querySelector('.phone>.sign')?.getBoundingClientRect();
  if (pageSign && pageSign.top >= 0 && pageSign.bottom < innerHeight / 2) {
    dialog.style.setProperty('--sign-top', `${pageSign.top}px`);
    dialog.style.setProperty('--sign-height', `${pageSign.height}px`);
    dialog.classList.add('placed');
  }
  // the question is void once the key is gone or means something else
  const meaning = JSON.stringify(key.dataset);
  const closeIfVoid = () => { if (!key.isConnected || JSON.stringify(key.dataset) !== meaning) dialog.close(); };
  const timer = setTimeout(() => dialog.close(), QUESTION_MS);
  yesKey.addEventListener('click', () => { dialog.close(); act(); });
  noKey.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    clearTimeout(timer);
    document.removeEventListener('shown', closeIfVoid);
    document.documentElement.classList.remove('asks-first');
    dialog.remove();
    const menu = key.closest('.menu:not([open])');
    (menu ? menu.querySelector('summary') : key).focus({ preventScroll: true });
  });
  document.addEventListener('shown', closeIfVoid);
  document.documentElement.classList.add('asks-first');
  document.body.append(dialog);
  dialog.showModal();
  noKey.focus({ preventScroll: true });
}

{
  const SECOND_KEY_MS = 20000; // after this time a second key disappears again
  const OVERRULE_AFTER_MS = 5000; // in this time the camera should see a move that was just made

  function showSecondKey(id) {
    const key = document.getElementById(id);
    if (!key) return;
    key.hidden = false;
    key.focus({ preventScroll: true });
    setTimeout(() => hideSecondKey(key), SECOND_KEY_MS);
  }

  // Hide a second key, and return its focus to the first one.
  function hideSecondKey(key) {
    if (document.activeElement === key) document.querySelector(`[data-arm=${key.id}]`)?.focus();
    key.hidden = true;
  }

  function closeMenu(menu) {
    menu.removeAttribute('open');
    menu.querySelector('summary').focus({ preventScroll: true });
  }

  // The key that overrules the camera (#force) appears only after the camera has disagreed with people for a while. It disagrees
  // if it finds the board wrong (`data-wrong`), or if the table has just refused what people confirm (`isRefused`).
  let disagreement = ''; // the body of the key's request, which names the disputed step
  let overruleTimer = 0;
  function updateOverruleKey(isRefused) {
    const key = document.getElementById('force');
    if (!key || (!isRefused && key.dataset.wrong === undefined && disagreement !== key.dataset.body)) {
      clearTimeout(overruleTimer);
      disagreement = '';
      if (key) key.hidden = true;
      return;
    }
    if (disagreement === key.dataset.body) return;
    clearTimeout(overruleTimer);
    disagreement = key.dataset.body;
    key.hidden = true;
    overruleTimer = setTimeout(() => {
      const currentKey = document.getElementById('force');
      if (currentKey?.dataset.body === disagreement) currentKey.hidden = false;
    }, OVERRULE_AFTER_MS);
  }
  document.addEventListener('shown', () => updateOverruleKey(false));
  updateOverruleKey(false);

  // Send the request of a key, and do with the page what its other attributes say. A second tap meanwhile does nothing.
  async function sendRequest(key) {
    if (key.dataset.busy !== undefined) return;
    key.dataset.busy = '';
    const menu = key.closest('details');
    const { post: url, body, then, refused } = key.dataset;
    const answer = await post(url, JSON.parse(body));
    delete key.dataset.busy;
    if (menu?.open) closeMenu(menu); // an open menu would cover the refusal
    if (answer.ok && then) {
      const sharedWindow = frameElement?.closest('.here'); // seat and table screen in one window, which decides what it shows
      if (sharedWindow) parent.location.reload();
      else location.assign(root + then);
    }
    if (!answer.ok && answer.error?.kind === 'illegal' && refused !== undefined) updateOverruleKey(true);
    if (answer.ok && 'second' in key.dataset) key.hidden = true;
    if (answer.ok) document.dispatchEvent(new CustomEvent('answered', { detail: { ...answer, url } }));
  }

  // Act after a question was answered with yes. A key without an address sends its form, or leaves the action to another script,
  // which gets the event `sure`.
  function carryOut(key) {
    if (key.dataset.post) sendRequest(key);
    else if (key.form) key.form.requestSubmit();
    else key.dispatchEvent(new Event('sure', { bubbles: true }));
  }

  function pressKey(key) {
    const { arm, sure, yes, no } = key.dataset;
    if (arm) showSecondKey(arm);
    else if (sure) askFirst(key, { question: sure, yes, no }, () => carryOut(key));
    else sendRequest(key);
  }

  document.addEventListener('click', event => {
    const key = event.target.closest?.('[data-post], [data-arm], [data-sure]');
    // A key with data-edge has acted at the touch. Only a click without a touch, as by keyboard, counts here.
    if (key && (key.dataset.edge === undefined || event.detail === 0)) pressKey(key);
  });
  document.addEventListener('pointerdown', event => {
    const key = event.target.closest?.('[data-post][data-edge]');
    if (key && event.button === 0) sendRequest(key);
  });
  document.addEventListener('keydown', event => {
    const key = event.key === ' ' && document.querySelector('[data-space]');
    if (!key || event.target.closest?.('input, textarea, summary, dialog')) return;
    event.preventDefault();
    if (!event.repeat && !globalThis.remainingRestMs(key)) sendRequest(key);
  });

  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
    const secondKey = document.querySelector('button[data-second]:not([hidden], #force)');
    const menu = document.querySelector('details[open]');
    if (secondKey) hideSecondKey(secondKey);
    else if (menu) closeMenu(menu);
    else document.querySelector('[data-escape]')?.click();
  });
  // An open menu closes when the focus leaves it, so that it does not cover the focus.
  document.addEventListener('focusin', ({ target }) => {
    if (!target.closest('.menu')) document.querySelector('.menu[open]')?.removeAttribute('open');
  });
}

// ---- forms ----

// A form with data-json is sent as JSON with its fields. A refusal is shown on its page.
document.addEventListener('submit', async event => {
  const form = event.target.closest('form[data-json]');
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries(new FormData(form));
  for (const box of form.querySelectorAll('[type=checkbox]')) body[box.name] = box.checked;
  const answer = await post(form.dataset.json, body);
  if (answer.ok) location.assign(root + form.dataset.then);
});

// ---- downloads that take long ----

// While a page waits for a file that takes long to make, the key that has requested it says so (`data-wait`) and counts the
// seconds. Scripts do not learn when a download begins. So the request carries a token, and the answer sets a cookie with that
// token, for which this script waits.
{
  const CHECK_INTERVAL_MS = 250;
  const pendingFiles = new Map(); // for each key that waits, the function that ends the wait

  function beginWait(key, words, token) {
    const note = key.querySelector('small') ?? key.appendChild(document.createElement('small'));
    const before = note.textContent;
    const startMs = performance.now();
    const end = () => {
      clearInterval(timer);
      pendingFiles.delete(key);
      key.removeAttribute('data-busy');
      note.textContent = before;
    };
    const update = () => {
      const seconds = Math.floor((performance.now() - startMs) / 1000);
      note.textContent = seconds ? `${words} ${seconds} s` : words;
      if (document.cookie.includes(`made=${token}`)) end();
    };
    const timer = setInterval(update, CHECK_INTERVAL_MS);
    key.setAttribute('data-busy', '');
    pendingFiles.set(key, end);
    update();
  }

  const newToken = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(36);

  document.addEventListener('click', event => {
    const key = event.target.closest?.('a[data-wait]');
    if (!key) return;
    if (pendingFiles.has(key)) {
      event.preventDefault();
      return;
    }
    const url = new URL(key.href);
    const token = newToken();
    url.searchParams.set('wait', token);
    key.href = url;
    beginWait(key, key.dataset.wait, token);
  });

  document.addEventListener('submit', event => {
    const form = event.target.closest('form[data-wait]');
    if (!form || !event.submitter) return;
    if (pendingFiles.has(event.submitter)) {
      event.preventDefault();
      return;
    }
    const token = newToken();
    const field = form.querySelector('[name=wait]') ?? form.appendChild(Object.assign(document.createElement('input'), { type: 'hidden', name: 'wait' }));
    field.value = token;
    beginWait(event.submitter, form.dataset.wait, token);
  });

  addEventListener('pageshow', () => { for (const end of [...pendingFiles.values()]) end(); });
}

// ---- fair chance ----

// After a game this browser checks that the table was bound to its secret from the start, and that the seed of all chance
// was made from that secret. docs/security.md, "Fair chance", explains both.
{
  const bytesOf = digits => new Uint8Array((digits.match(/../g) ?? []).map(pair => parseInt(pair, 16)));

  function showVerdict(place, isRight, word) {
    if (!place || place.dataset.verdict === word) return;
    place.dataset.verdict = word;
    const drawing = `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${isRight ? 'tick' : 'cross'}"/></svg>`;
    place.innerHTML = `${drawing}<span>${word}</span>`;
  }

  function check(section) {
    const chance = JSON.parse(section.dataset.chance);
    const results = {
      commitment: sha256(bytesOf(chance.secret)) === chance.commitment,
      seed: sha256(chance.text) === chance.seed && chance.text.startsWith(`${chance.commitment} ${chance.secret} `),
    };
    for (const [part, isRight] of Object.entries(results)) {
      showVerdict(section.querySelector(`[data-part="${part}"]`), isRight, isRight ? chance.words.matches : chance.words.differs);
    }
    const isAllRight = results.commitment && results.seed && !chance.faults;
    showVerdict(section.querySelector('[data-part="all"]'), isAllRight, isAllRight ? chance.words.all : chance.words.differs);
  }

  const checkAll = () => document.querySelectorAll('[data-chance]').forEach(check);

  document.addEventListener('shown', checkAll);
  checkAll();
}

// ---- receipts ----

// Receipts are checked in the browser, so that nobody has to trust the table.
{
  const drawing = isRight => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${isRight ? 'tick' : 'cross'}"/></svg>`;

  document.addEventListener('click', event => {
    const key = event.target.closest?.('[data-check]');
    if (!key) return;
    for (const proof of key.closest('.proofs').querySelectorAll('.proof')) {
      const isRight = sha256(proof.dataset.text) === proof.dataset.receipt;
      proof.querySelector('.verdict').innerHTML = `${drawing(isRight)}${isRight ? say('matches') : say('does not match')}`;
    }
  });
}

// Tell early.js that all scripts have run. The time-out lets the modules that import this one run first.
setTimeout(() => dispatchEvent(new Event('scripts')));
