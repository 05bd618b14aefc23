// The reveal as a small play, once for each step, beat by beat as the table has worked them out: hands' moves slide, then
// what happened in its order, each with its sound, then the way home of who was hit; sums land part by part, both sides in
// step. Nothing waits for it: any key or touch shows the end at once, and nothing moves for who asked for stillness.
import { sound, silence } from './tones.js';

const calm = matchMedia('(prefers-reduced-motion: reduce)');
const GO = 'cubic-bezier(.2,.7,.2,1)';
const LIFT_MS = 240; // the shutters, as in the style sheet
const SUM_MS = 240;
const PAUSE_MS = 60;
const MOST_MS = 3200;
const BACK = 'repeating-linear-gradient(135deg,var(--hatch-a) 0 9px,var(--hatch-b) 9px 18px)';
const way = text => `translate(${text.split(' ').map(length => `${length}px`).join(', ')})`;
// What a mark of the board does in its beat, and for how long.
const ACTS = {
  slide: [420, GO, of => [{ transform: way(of) }, { transform: 'none' }]],
  bump: [520, 'cubic-bezier(.3,1.3,.5,1)', of => [{ transform: 'none' }, { transform: way(of), offset: 0.4 }, { transform: 'none' }]],
  flip: [360, GO, () => [{}, { transform: 'scaleX(0)', offset: 0.5 }, {}]],
  grow: [260, GO, () => [{ strokeDasharray: '0 1' }, { strokeDasharray: '1 0' }]],
  pop: [240, GO, () => [{ opacity: 0, transform: 'scale(.4)' }, { opacity: 1, transform: 'none' }]],
  swell: [360, GO, () => [{ transform: 'none' }, { transform: 'scale(1.25)', offset: 0.4 }, { transform: 'none' }]],
};
let played = null;
let summed = '';
let running = [];

// The marks of the board with their beats; a piece that turns over is named by its frame.
function cast() {
  return [...document.querySelectorAll('#live [data-beat]')].flatMap(mark => Object.keys(ACTS)
    .filter(act => mark.dataset[act] !== undefined)
    .map(act => ({
      act, beat: Number(mark.dataset.beat), of: mark.dataset[act],
      target: act === 'flip' ? document.querySelector(`.board [data-at="${mark.dataset.flip}"]`) : mark,
    }))).filter(({ target }) => target);
}

const scored = () => (document.getElementById('live').dataset.tones ?? '').split('|').filter(Boolean)
  .map(text => ({ beat: parseInt(text, 10), tone: text.slice(text.indexOf(' ') + 1) }));

function act({ target, act: name, of }, delay, speed) {
  const [duration, easing, frames] = ACTS[name];
  running.push(target.animate(frames(of), { duration: duration * speed, delay, easing, fill: 'backwards' }));
}

// One beat after the other; answers when the last one is over.
function board() {
  const players = cast();
  const tones = scored();
  const beats = [...new Set([...players, ...tones].map(({ beat }) => beat))].sort((a, b) => a - b);
  const length = beat => Math.max(200, ...players.filter(each => each.beat === beat).map(each => ACTS[each.act][0])) + PAUSE_MS;
  const start = document.querySelector('#live .cell.now') ? LIFT_MS : 0;
  const speed = Math.min(1, MOST_MS / beats.reduce((sum, beat) => sum + length(beat), 1));
  let at = start;
  for (const beat of beats) {
    for (const each of players.filter(player => player.beat === beat)) act(each, at, speed);
    for (const { tone } of tones.filter(each => each.beat === beat)) sound(tone, at);
    at += length(beat) * speed;
  }
  return at;
}

function sums(start) {
  const landing = place => ({ duration: SUM_MS, delay: start + SUM_MS * place, fill: 'backwards', easing: GO });
  for (const part of document.querySelectorAll('[data-land]')) {
    running.push(part.animate([{ opacity: 0, transform: 'translateY(.3em)' }, { opacity: 1, transform: 'none' }], landing(part.dataset.land)));
  }
  // A card lies face down until its turn has come, and shows its face once it stands on edge.
  for (const card of document.querySelectorAll('[data-up]')) {
    const [duration, , frames] = ACTS.flip;
    const delay = start + SUM_MS * card.dataset.up;
    running.push(card.animate(frames(), { duration, delay, easing: 'ease-in-out' }));
    running.push(card.animate({ background: [BACK, BACK], color: ['transparent', 'transparent'] }, delay + duration / 2));
  }
  const plain = (each, timing) => {
    const { color } = getComputedStyle(each.parentElement);
    running.push(each.animate([{ background: 'transparent', color }, { background: 'transparent', color }], timing));
  };
  for (const total of document.querySelectorAll('.greater [data-turn]')) plain(total, landing(Number(total.dataset.turn) + 1));
  for (const step of document.querySelectorAll('[data-fill]')) plain(step, { ...landing(0), duration: start + SUM_MS * step.dataset.fill });
}

// The end of the play, at once.
function skip() {
  running.forEach(each => each.finish());
  running = [];
  for (const each of document.getAnimations()) if (each.effect.getTiming().iterations !== Infinity) each.finish();
  silence();
}

function play() {
  const scene = document.getElementById('live')?.dataset.scene ?? '';
  const isNew = played !== null && scene !== played;
  played = scene;
  const told = [...document.querySelectorAll('.tally')].map(tally => tally.textContent).join();
  const isSummed = told === summed; // a later step shows the same sums: they lie there already
  summed = told;
  if (!isNew || !scene) return;
  running = [];
  if (calm.matches) {
    scored().forEach(({ tone }, place) => { if (!place) sound(tone, 0); });
    return;
  }
  const end = board();
  if (!isSummed) sums(end);
}

addEventListener('keydown', skip, { capture: true, passive: true });
addEventListener('pointerdown', skip, { capture: true, passive: true });
document.addEventListener('shown', play);
play();
