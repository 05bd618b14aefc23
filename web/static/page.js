// What pages share: sentences, requests, what a browser keeps, keys that ask for something, proofs that are checked.
import { sha256 } from './sha256.js';

// ---- sentences ----

// What the scripts say, in the page's language: the English pattern is the key, the catalogue comes from the service.
const language = document.documentElement.lang;
const words = language === 'en' ? {} : await import(`./words.${language}.js`).then(
  found => found.default,
  () => {
    dispatchEvent(new Event('unloaded')); // the page speaks English meanwhile
    return {};
  },
);

// A sentence from its English pattern; parts stand for its {names}.
export function say(pattern, parts = {}) {
  return (words[pattern] || pattern).replace(/\{(\w+)\}/g, (_, name) => parts[name]);
}

const plural = new Intl.PluralRules(language);

// A sentence about n things; in French none is one too.
export function sayN(one, many, n, parts = {}) {
  const isOne = plural.select(n) === 'one';
  return say(isOne ? one : many, { ...parts, n });
}

// ---- requests ----

// What every address of the table begins with: nothing, or the path that a proxy gives these pages.
export const root = document.documentElement.dataset.root;

// Asks the table for something; a refusal is said next to the keys.

const PATIENCE_MS = 20000;
let quiet = 0;

/* Says why not; `link` is the address and the name of the paragraph of the rules that says so. */
export function refuse(text, link, isHint = false) {
  const place = document.getElementById('said');
  if (!place) return;
  place.classList.toggle('hint', isHint); // what is right, but not yet
  place.textContent = text;
  if (text && link) {
    const rule = document.createElement('a');
    [rule.href, rule.textContent] = link;
    place.append(' ', rule);
  }
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => { document.getElementById('said').textContent = ''; }, 8000);
}

export async function post(url, body = {}) {
  try {
    const answer = await fetch(root + url, {
      method: 'POST',
      signal: AbortSignal.timeout?.(PATIENCE_MS),
      keepalive: true, // a key let go while the page is closed is let go all the same
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(body),
    });
    const told = await answer.json();
    refuse(answer.ok ? '' : told.error.message, told.error?.link, told.error?.reason === 'lesson');
    return { ok: answer.ok, status: answer.status, ...told };
  } catch (error) {
    refuse(error.name === 'TimeoutError' // six windows of one browser have all its connections to one table
      ? say('No answer from the table: close other windows of these pages, then try again')
      : say('No connection to the table: try again'));
    return { ok: false, status: 0 };
  }
}

// ---- what a browser keeps ----

// What a player has entered and not handed in: in this tab's storage, and in this page alone where a browser keeps nothing
// or has no room left.
const entered = new Map();

function tab() {
  try {
    return sessionStorage;
  } catch {
    return null;
  }
}

export function remember(name, value) {
  entered.set(name, value);
  try {
    tab()?.setItem(name, value);
  } catch { /* no room: this page still has it */ }
}

export const recall = name => entered.get(name) ?? tab()?.getItem(name) ?? null;

export function forget(isOld) {
  const kept = tab();
  for (const name of new Set([...entered.keys(), ...Object.keys(kept ?? {})])) {
    if (!isOld(name)) continue;
    entered.delete(name);
    kept?.removeItem(name);
  }
}

// What this browser was told to keep for all its pages.
export function setting(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

export function keepSetting(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch { /* a browser that keeps nothing: as delivered */ }
}

// ---- keys ----

// Keys that ask the table for something (data-post; data-edge: at the touch, data-space: by the space bar too). What cannot
// be undone asks first (data-sure), and something more appears for who wants it (data-arm).
const SURE_MS = 8000;

// Asks before something that cannot be undone: the question stands where the page's sign is, the key that goes on is
// on the other side of the one just tapped, and the harmless one under the finger. It has the focus, too.
export function askFirst(key, { question, yes, no }, act) {
  const { left, right } = key.getBoundingClientRect();
  const dialog = Object.assign(document.createElement('dialog'), { className: 'sure' });
  const sign = Object.assign(document.createElement('p'), { className: 'sign down', id: 'sure', textContent: question });
  const row = Object.assign(document.createElement('div'), { className: 'sure-keys' });
  const button = text => Object.assign(document.createElement('button'), { className: 'key', type: 'button', textContent: text });
  const [going, staying] = [button(yes), button(no)];
  const isLeft = left + right < innerWidth;
  going.dataset.yes = '';
  staying.dataset.no = '';
  dialog.setAttribute('aria-labelledby', 'sure');
  row.append(...(isLeft ? [staying, going] : [going, staying]));
  dialog.append(sign, row);
  const shown = document.querySelector('.phone>.sign')?.getBoundingClientRect();
  if (shown && shown.top >= 0 && shown.bottom < innerHeight / 2) {
    dialog.style.setProperty('--sign-top', `${shown.top}px`);
    dialog.style.setProperty('--sign-height', `${shown.height}px`);
    dialog.classList.add('placed');
  }
  const asked = JSON.stringify(key.dataset);
  const look = () => { if (!key.isConnected || JSON.stringify(key.dataset) !== asked) dialog.close(); }; // it is over
  const end = setTimeout(() => dialog.close(), SURE_MS);
  going.addEventListener('click', () => { dialog.close(); act(); });
  staying.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    clearTimeout(end);
    document.removeEventListener('shown', look);
    document.documentElement.classList.remove('asks-first');
    dialog.remove();
    const menu = key.closest('.menu:not([open])');
    (menu ? menu.querySelector('summary') : key).focus({ preventScroll: true });
  });
  document.addEventListener('shown', look);
  document.documentElement.classList.add('asks-first');
  document.body.append(dialog);
  dialog.showModal();
  staying.focus({ preventScroll: true });
}

{
  const MORE_MS = 20000;
  const DISAGREES_MS = 5000;

  function reveal(id) {
    const more = document.getElementById(id);
    if (!more) return;
    more.hidden = false;
    more.focus({ preventScroll: true });
    setTimeout(() => hide(more), MORE_MS);
  }

  // The focus goes back to the first key.
  function hide(more) {
    if (document.activeElement === more) document.querySelector(`[data-arm=${more.id}]`)?.focus();
    more.hidden = true;
  }

  function shut(menu) {
    menu.removeAttribute('open');
    menu.querySelector('summary').focus({ preventScroll: true });
  }

  // The camera disagrees with what people say: only when it has done so for a while can they overrule it.
  let disagreement = '';
  let waiting = 0;
  function disagree(isRefused) {
    const key = document.getElementById('force');
    if (!key || (!isRefused && key.dataset.wrong === undefined && disagreement !== key.dataset.body)) {
      clearTimeout(waiting);
      disagreement = '';
      if (key) key.hidden = true;
      return;
    }
    if (disagreement === key.dataset.body) return;
    clearTimeout(waiting);
    disagreement = key.dataset.body;
    key.hidden = true;
    waiting = setTimeout(() => {
      const now = document.getElementById('force');
      if (now?.dataset.body === disagreement) now.hidden = false;
    }, DISAGREES_MS);
  }
  document.addEventListener('shown', () => disagree(false));
  disagree(false);

  async function ask(key) {
    if (key.dataset.busy !== undefined) return;
    key.dataset.busy = '';
    const menu = key.closest('details');
    const { post: url, body, then, refused } = key.dataset;
    const answer = await post(url, JSON.parse(body));
    delete key.dataset.busy;
    if (menu?.open) shut(menu); // it lies over what is refused, too
    if (answer.ok && then) {
      const both = frameElement?.closest('.here'); // beside the table screen: the whole window finds its way
      if (both) parent.location.reload();
      else location.assign(root + then);
    }
    if (!answer.ok && answer.error?.kind === 'illegal' && refused !== undefined) disagree(true);
    if (answer.ok && 'second' in key.dataset) key.hidden = true;
    if (answer.ok) document.dispatchEvent(new CustomEvent('answered', { detail: { ...answer, url } }));
  }

  // A key without an address sends its form, or tells whoever knows what it does.
  function go(key) {
    if (key.dataset.post) ask(key);
    else if (key.form) key.form.requestSubmit();
    else key.dispatchEvent(new Event('sure', { bubbles: true }));
  }

  function press(key) {
    const { arm, sure, yes, no } = key.dataset;
    if (arm) reveal(arm);
    else if (sure) askFirst(key, { question: sure, yes, no }, () => go(key));
    else ask(key);
  }

  document.addEventListener('click', event => {
    const key = event.target.closest?.('[data-post], [data-arm], [data-sure]');
    // What ends a turn counts from the finger's touch; the click that follows it is not another one.
    if (key && (key.dataset.edge === undefined || event.detail === 0)) press(key);
  });
  document.addEventListener('pointerdown', event => {
    const key = event.target.closest?.('[data-post][data-edge]');
    if (key && event.button === 0) ask(key);
  });
  document.addEventListener('keydown', event => {
    const key = event.key === ' ' && document.querySelector('[data-space]');
    if (!key || event.target.closest?.('input, textarea, summary, dialog')) return;
    event.preventDefault();
    if (!event.repeat && !globalThis.restOf(key)) ask(key);
  });

  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
    const more = document.querySelector('button[data-second]:not([hidden], #force)');
    const menu = document.querySelector('details[open]');
    if (more) hide(more);
    else if (menu) shut(menu);
    else document.querySelector('[data-escape]')?.click();
  });
  // An open menu closes before the focus goes behind it.
  document.addEventListener('focusin', ({ target }) => {
    if (!target.closest('.menu')) document.querySelector('.menu[open]')?.removeAttribute('open');
  });
}

// ---- forms ----

// A form that is sent as JSON: its fields are those of the request, and a refusal is said on its page.
document.addEventListener('submit', async event => {
  const form = event.target.closest('form[data-json]');
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries(new FormData(form));
  for (const box of form.querySelectorAll('[type=checkbox]')) body[box.name] = box.checked;
  const answer = await post(form.dataset.json, body);
  if (answer.ok) location.assign(root + form.dataset.then);
});

// ---- work that takes its time ----

// Work that takes its time says so on the key that asked for it, until its answer is there: then the service sets a cookie.
{
  const LOOK_MS = 250;
  const works = new Map();

  function begin(key, words, token) {
    const note = key.querySelector('small') ?? key.appendChild(document.createElement('small'));
    const before = note.textContent;
    const since = performance.now();
    const end = () => {
      clearInterval(timer);
      works.delete(key);
      key.removeAttribute('data-busy');
      note.textContent = before;
    };
    const tell = () => {
      const seconds = Math.floor((performance.now() - since) / 1000);
      note.textContent = seconds ? `${words} ${seconds} s` : words;
      if (document.cookie.includes(`made=${token}`)) end();
    };
    const timer = setInterval(tell, LOOK_MS);
    key.setAttribute('data-busy', '');
    works.set(key, end);
    tell();
  }

  const fresh = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(36);

  document.addEventListener('click', event => {
    const key = event.target.closest?.('a[data-wait]');
    if (!key) return;
    if (works.has(key)) {
      event.preventDefault();
      return;
    }
    const url = new URL(key.href);
    const token = fresh();
    url.searchParams.set('wait', token);
    key.href = url;
    begin(key, key.dataset.wait, token);
  });

  document.addEventListener('submit', event => {
    const form = event.target.closest('form[data-wait]');
    if (!form || !event.submitter) return;
    if (works.has(event.submitter)) {
      event.preventDefault();
      return;
    }
    const token = fresh();
    const field = form.querySelector('[name=wait]') ?? form.appendChild(Object.assign(document.createElement('input'), { type: 'hidden', name: 'wait' }));
    field.value = token;
    begin(event.submitter, form.dataset.wait, token);
  });

  addEventListener('pageshow', () => { for (const end of [...works.values()]) end(); });
}

// ---- fair chance ----

// Fair chance: checks in this browser, when a game is over, that the table was bound to its secret and that the seed
// comes from it. docs/security.md, "Fair chance", says how.
{
  const bytesOf = digits => new Uint8Array((digits.match(/../g) ?? []).map(pair => parseInt(pair, 16)));

  function mark(place, fits, word) {
    if (!place || place.dataset.said === word) return;
    place.dataset.said = word;
    const drawing = `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${fits ? 'tick' : 'cross'}"/></svg>`;
    place.innerHTML = `${drawing}<span>${word}</span>`;
  }

  function check(section) {
    const told = JSON.parse(section.dataset.chance);
    const parts = {
      commitment: sha256(bytesOf(told.secret)) === told.commitment,
      seed: sha256(told.text) === told.seed && told.text.startsWith(`${told.commitment} ${told.secret} `),
    };
    for (const [part, fits] of Object.entries(parts)) {
      mark(section.querySelector(`[data-part="${part}"]`), fits, fits ? told.words.fits : told.words.not);
    }
    const fits = parts.commitment && parts.seed && !told.faults;
    mark(section.querySelector('[data-part="all"]'), fits, fits ? told.words.all : told.words.not);
  }

  const look = () => document.querySelectorAll('[data-chance]').forEach(check);

  document.addEventListener('shown', look);
  look();
}

// ---- receipts ----

// Checks receipts in the browser, so that nobody has to trust the table.
{
  const mark = fits => `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${fits ? 'tick' : 'cross'}"/></svg>`;

  document.addEventListener('click', event => {
    const key = event.target.closest?.('[data-check]');
    if (!key) return;
    for (const proof of key.closest('.proofs').querySelectorAll('.proof')) {
      const fits = sha256(proof.dataset.text) === proof.dataset.receipt;
      proof.querySelector('.verdict').innerHTML = `${mark(fits)}${fits ? say('matches') : say('does not match')}`;
    }
  });
}

// Modules that import this one run next: then nothing is missing any more (early.js).
setTimeout(() => dispatchEvent(new Event('scripts')));
