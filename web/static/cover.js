// Eyes that should not see: what a seat has entered lies under the shutter until it is touched, and again some seconds
// after the last touch. The same shutter for all that a seat may hold: what is under it is neither drawn nor spoken.
import { say } from './say.js';
import { isOn } from './switches.js';

const LOOK_MS = 8000;
const page = document.documentElement;
let end = 0;
let isLooking = false;

function paint() {
  const isCovered = isOn('cover') && !isLooking;
  const changes = page.classList.contains('covered') !== isCovered;
  page.classList.toggle('covered', isCovered);
  const focused = document.activeElement;
  for (const place of document.querySelectorAll('[data-secret]')) {
    const hides = isCovered && place !== focused && place.contains(focused);
    const opens = !isCovered && place === focused;
    const marks = { tabindex: '0', role: 'button', 'aria-label': say('Covered: touch it to look') };
    for (const [name, value] of Object.entries(marks)) {
      if (isCovered) place.setAttribute(name, value);
      else place.removeAttribute(name);
    }
    // The focus follows: onto the shutter, or to what lay under it.
    if (hides) place.focus({ preventScroll: true });
    if (opens) place.querySelector('button:not(:disabled, [hidden]), [tabindex="0"]')?.focus({ preventScroll: true });
  }
  if (changes) document.dispatchEvent(new Event(isCovered ? 'covered' : 'uncovered'));
}

function look() {
  isLooking = true;
  clearTimeout(end);
  end = setTimeout(hide, LOOK_MS);
  paint();
}

function hide() {
  isLooking = false;
  clearTimeout(end);
  paint();
}

// Answers whether the touch only opened the shutter.
function touch(event) {
  if (!isOn('cover')) return false;
  const opens = !isLooking && event.target.closest?.('[data-secret], .veil');
  if (isLooking || opens) look();
  return Boolean(opens);
}

let opened = false;
document.addEventListener('pointerdown', event => { opened = touch(event); }, true);
document.addEventListener('click', event => {
  // A screen reader clicks without touching; the click after the touch that opened the shutter does nothing else.
  if (!opened && !touch(event)) return;
  opened = false;
  event.preventDefault();
  event.stopPropagation();
}, true);
document.addEventListener('keydown', event => {
  if (isLooking) touch(event);
  else if (event.target.matches?.('[data-secret]') && ['Enter', ' '].includes(event.key)) {
    event.preventDefault();
    event.stopPropagation();
    look();
  }
}, true);
document.addEventListener('visibilitychange', hide);
addEventListener('pagehide', hide);
document.addEventListener('switched', hide);
document.addEventListener('shown', paint);
paint();
