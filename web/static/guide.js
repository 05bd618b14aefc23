// The guide of a first game: hangs “Press this” over what is to be touched next, worked out of what the page shows.
import { board, centre, page } from './squares.js';

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

// Where the tag’s tip may point, in the page’s own measure, and whether the tag hangs below: at a key or a square from
// above, or from below.
function tips(target) {
  const here = page().getBoundingClientRect();
  if (!target.startsWith('@')) {
    const box = find(target)?.getBoundingClientRect();
    return box ? [[box.top + 10, false], [box.bottom - 10, true]].map(([y, isUnder]) => [box.left + box.width / 2 - here.left, y - here.top, isUnder]) : [];
  }
  if (!board()) return [];
  const [x, y] = centre(target.slice(1));
  return [[-20, false], [40, true]].map(([down, isUnder]) => {
    const at = new DOMPoint(x, y + down).matrixTransform(board().getScreenCTM());
    return [at.x - here.left, at.y - here.top, isUnder];
  });
}

const TIP = 8; // so much of the tag is only its tip

// How much of a piece or a word lies under the tag, in square pixels.
const hidden = (box, left, top, width, height) => Math.max(0, Math.min(box.right, left + width) - Math.max(box.left, left))
  * Math.max(0, Math.min(box.bottom, top + height) - Math.max(box.top, top));

// The tag’s place there, as far to the left or right as hides least: of other pieces, or at a key of the words of keys and orders.
function place(target, width, height) {
  const here = page().getBoundingClientRect();
  const isKey = !target.startsWith('@');
  const others = [...page().querySelectorAll(isKey ? '.key :is(b, .leg), .slot b' : '.view [data-at]')].filter(each => `@${each.dataset.at}` !== target)
    .map(each => each.getBoundingClientRect());
  const most = page().clientWidth - width - 4;
  const places = tips(target).flatMap(([x, y, isUnder]) => (isKey ? [.5, .3, .7] : [.5, .35, .65, .2, .8, .13, .87]).map(share => {
    const left = Math.max(4, Math.min(most, x - share * width));
    const top = isUnder ? y : y - height;
    const body = isKey ? [top + here.top + (isUnder ? TIP : 0), width, height - TIP] : [top + here.top, width, height];
    const hides = others.reduce((sum, box) => sum + hidden(box, left + here.left, ...body), 0);
    return { left, top, isUnder, at: x - left, hides };
  }));
  return places.reduce((best, each) => (each.hides < best.hides ? each : best), places[0]);
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
  tip.hidden = !target;
  const best = target && place(target, tip.offsetWidth, tip.offsetHeight);
  tip.hidden = !best;
  if (!best) return;
  tip.classList.toggle('under', best.isUnder);
  tip.style.transform = `translate(${best.left}px, ${best.top}px)`;
  tip.style.setProperty('--at', `${best.at}px`);
}

const later = () => { waits ||= requestAnimationFrame(paint); };
new MutationObserver(later).observe(document.body, { subtree: true, childList: true, attributeFilter: ['class', 'aria-pressed', 'data-taps', 'hidden'] });
addEventListener('resize', later);
document.addEventListener('shown', later);
paint();
