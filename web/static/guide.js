// The guide of a first game: hangs “Press this” over what is to be touched next, worked out of what the page shows.
import { board, centre, isTurned, page, shifted } from './squares.js';

const tag = () => document.getElementById('press');
const find = selector => (selector ? page().querySelector(selector) : null);
const isSeen = key => Boolean(key?.getClientRects().length) && !key.matches(':disabled');

const isDone = done => done.some(([selector, text]) => [...page().querySelectorAll(selector)].some(each => !text || each.textContent === text));

// What is next: a selector, or a square as @c4; null: nothing is asked of this seat.
function next() {
  const taps = JSON.parse(document.getElementById('guide').dataset.taps);
  for (const [target, done, wrong, instead] of taps) {
    if (done.length && isDone(done)) continue;
    return find(wrong) ? instead : target;
  }
  return ['[data-post="/workbench/tidy"]', '.act.hands .go', '[data-post$="/resume"]'].find(each => isSeen(find(each))) ?? null;
}

// Where the tag’s tip points, in the page’s own measure; it hangs under a square whose upper neighbour it would hide.
function point(target) {
  const here = page().getBoundingClientRect();
  if (!target.startsWith('@')) {
    const box = find(target)?.getBoundingClientRect();
    return box && [box.left + box.width / 2 - here.left, box.top + 10 - here.top];
  }
  if (!board()) return null;
  const square = target.slice(1);
  const [x, y] = centre(square);
  const lies = step => board().querySelector(`[data-at="${shifted(square, [0, step])}"]`);
  const up = isTurned() ? -1 : 1;
  const isUnder = lies(up) && !lies(-up);
  const at = new DOMPoint(x, isUnder ? y + 40 : y - 20).matrixTransform(board().getScreenCTM());
  return [at.x - here.left, at.y - here.top, isUnder];
}

let waits = 0;
function paint() {
  waits = 0;
  const tip = tag();
  if (!tip) return;
  const target = next();
  for (const each of page().querySelectorAll('[data-press]')) if (each !== find(target?.startsWith('@') ? '' : target)) each.removeAttribute('data-press');
  if (target && !target.startsWith('@')) find(target)?.setAttribute('data-press', '');
  tip.dataset.at = target ?? '';
  const at = target && point(target);
  tip.hidden = !at;
  if (!at) return;
  tip.classList.toggle('under', Boolean(at[2]));
  const most = page().clientWidth - tip.offsetWidth - 4;
  const left = Math.max(4, Math.min(most, at[0] - tip.offsetWidth / 2));
  tip.style.transform = `translate(${left}px, ${at[2] ? at[1] : at[1] - tip.offsetHeight}px)`;
  tip.style.setProperty('--at', `${at[0] - left}px`);
}

const later = () => { waits ||= requestAnimationFrame(paint); };
new MutationObserver(later).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'aria-pressed', 'data-taps', 'hidden'] });
addEventListener('resize', later);
document.addEventListener('shown', later);
paint();
