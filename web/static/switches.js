// What a player sets for this browser: it stays in its storage, and keys with data-switch show and change it.
import { say } from './say.js';

const DELIVERED = { signal: true, cover: false };

export function isOn(name) {
  try {
    return (localStorage.getItem(name) ?? (DELIVERED[name] ? 'on' : 'off')) === 'on';
  } catch {
    return DELIVERED[name];
  }
}

function turn(name) {
  try {
    localStorage.setItem(name, isOn(name) ? 'off' : 'on');
  } catch { /* a browser that keeps nothing: as delivered */ }
  document.dispatchEvent(new Event('switched'));
}

function paint() {
  if (isOn('cover')) import('./cover.js').catch(() => {});
  for (const key of document.querySelectorAll('[data-switch]')) {
    const on = isOn(key.dataset.switch);
    const small = key.querySelector('small');
    // Either the key says what it would do, or it stays down while it is on.
    const place = small ?? key;
    const text = small ? (on ? say('on') : say('off')) : on ? key.dataset.on : key.dataset.off;
    if (small) key.setAttribute('aria-pressed', String(on));
    if (place.textContent !== text) place.textContent = text;
  }
}

document.addEventListener('click', event => {
  const key = event.target.closest?.('[data-switch]');
  if (key) turn(key.dataset.switch);
});
document.addEventListener('switched', paint);
document.addEventListener('shown', paint);
addEventListener('storage', () => document.dispatchEvent(new Event('switched'))); // another tab turned it
paint();
