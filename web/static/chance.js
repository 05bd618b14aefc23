// Fair chance: this browser gives random bytes to a game before anything is drawn in it, and checks at the end that the
// table was bound to its secret before, and that these bytes were used. docs/security.md, "Fair chance", says how.
import { sha256 } from './sha256.js';

const MOST_KEPT = 60;
const memory = new Map(); // for browsers that keep nothing, and for what is on its way
// What this browser gave after game `after`, under its commitment.
const nameOf = (after, commitment, seat) => `chance:${after}:${commitment}:${seat}`;
const bytesOf = digits => new Uint8Array((digits.match(/../g) ?? []).map(pair => parseInt(pair, 16)));

function kept(name) {
  try {
    return localStorage.getItem(name) ?? memory.get(name);
  } catch {
    return memory.get(name);
  }
}

function keep(name, value) {
  memory.set(name, value);
  try {
    localStorage.setItem(name, value);
    const names = Object.keys(localStorage).filter(each => each.startsWith('chance:'));
    names.sort((one, other) => Number(one.split(':')[1]) - Number(other.split(':')[1]));
    for (const old of names.slice(0, -MOST_KEPT)) localStorage.removeItem(old);
  } catch { /* a browser that keeps nothing knows it until its page is closed */ }
}

// ---- before the game ----

async function give(after, commitment, seat) {
  const name = nameOf(after, commitment, seat);
  if (memory.has(`${name}:sent`)) return;
  memory.set(`${name}:sent`, '');
  const value = kept(name) ?? [...crypto.getRandomValues(new Uint8Array(32))].map(byte => byte.toString(16).padStart(2, '0')).join('');
  keep(name, value); // before it is sent: what was used can always be compared with it
  try {
    const answer = await fetch(`/api/seat/${seat}/contribute`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify({ commitment, value }),
    });
    if (answer.status >= 500) memory.delete(`${name}:sent`);
  } catch {
    memory.delete(`${name}:sent`); // with the next change of the page
  }
}

// ---- when the game is over ----

function mine(told, seat) {
  const ours = [...new Set([...memory.keys(), ...names()])].filter(name => name.startsWith('chance:') && name.endsWith(`:${seat}`));
  const name = ours.find(each => each.includes(`:${told.commitment}:`));
  if (name) return kept(name) === told.given[seat]?.value ? [true, told.words.used] : [false, told.words.another];
  const isOther = told.is_here && ours.some(each => each.startsWith(`chance:${told.number - 1}:`));
  return isOther ? [false, told.words.elsewhere] : null;
}

function names() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

// What fits and what does not, part by part.
function found(told) {
  const text = [told.commitment, told.secret, told.given.south?.value ?? '-', told.given.north?.value ?? '-'].join(' ');
  const parts = {
    commitment: sha256(bytesOf(told.secret)) === told.commitment,
    seed: sha256(text) === told.seed,
  };
  const verdicts = Object.entries(parts).map(([part, fits]) => [part, fits, fits ? told.words.fits : told.words.not]);
  for (const seat of ['south', 'north']) {
    const own = mine(told, seat);
    if (own) verdicts.push([seat, ...own]);
  }
  return verdicts;
}

function mark(place, fits, word) {
  const drawing = `<svg class="ic" viewBox="0 0 100 100" aria-hidden="true"><use href="#${fits ? 'tick' : 'cross'}"/></svg>`;
  const html = `${drawing}<span>${word}</span>`;
  if (place && place.dataset.said !== word) {
    place.dataset.said = word;
    place.innerHTML = html;
  }
}

function check(section) {
  const told = JSON.parse(section.dataset.chance);
  const verdicts = found(told);
  for (const [part, fits, word] of verdicts) mark(section.querySelector(`[data-part="${part}"]`), fits, word);
  const fits = verdicts.every(each => each[1]) && !told.faults;
  mark(section.querySelector('[data-part="all"]'), fits, fits ? told.words.all : told.words.not);
}

function look() {
  for (const place of document.querySelectorAll('[data-pledge]')) {
    const [after, commitment, ...seats] = place.dataset.pledge.split(' ');
    for (const seat of seats) give(after, commitment, seat);
  }
  document.querySelectorAll('[data-chance]').forEach(check);
}

document.addEventListener('shown', look);
look();
