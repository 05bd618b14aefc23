// Fair chance: checks in this browser, when a game is over, that the table was bound to its secret and that the seed
// comes from it. docs/security.md, "Fair chance", says how.
import { sha256 } from './sha256.js';

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
