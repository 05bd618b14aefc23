// The reveal as a small play, once for each step: moves, bounces and flips together, then the shots and the way home of
// who was hit; sums land part by part, both sides in step. Nothing waits for it, and nothing moves for who asked for
// stillness.
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const MOVE = { duration: 420, easing: 'cubic-bezier(.2,.7,.2,1)' };
const BOUNCE = { duration: 520, easing: 'cubic-bezier(.3,1.3,.5,1)' };
const SHOT = { duration: 260, delay: 540, fill: 'backwards' };
const HOME = { ...MOVE, delay: 860, fill: 'backwards' };
const FLIP = { duration: 360, easing: 'cubic-bezier(.2,.7,.2,1)' };
const SUM_MS = 240;
const landing = place => ({ duration: SUM_MS, delay: SUM_MS * place, fill: 'backwards', easing: 'cubic-bezier(.2,.7,.2,1)' });
let played = null;
let summed = '';

const way = text => `translate(${text.split(' ').map(length => `${length}px`).join(', ')})`;

function play() {
  const scene = document.getElementById('live')?.dataset.scene ?? '';
  const isNew = played !== null && scene !== played;
  played = scene;
  const sums = [...document.querySelectorAll('.tally')].map(tally => tally.textContent).join();
  const isSummed = sums === summed; // a later step shows the same sums: they lie there already
  summed = sums;
  if (!isNew || !scene || calm.matches) return;
  for (const piece of document.querySelectorAll('[data-slide]')) {
    piece.animate([{ transform: way(piece.dataset.slide) }, { transform: 'none' }], 'late' in piece.dataset ? HOME : MOVE);
  }
  for (const piece of document.querySelectorAll('[data-bump]')) {
    piece.animate([{ transform: 'none' }, { transform: way(piece.dataset.bump), offset: 0.4 }, { transform: 'none' }], BOUNCE);
  }
  for (const { dataset } of document.querySelectorAll('[data-flip]')) {
    document.querySelector(`.board [data-at="${dataset.flip}"]`)?.animate([{}, { transform: 'scaleX(0)', offset: 0.5 }, {}], FLIP);
  }
  for (const line of document.querySelectorAll('[data-grow]')) {
    line.animate([{ strokeDasharray: '0 1' }, { strokeDasharray: '1 0' }], SHOT);
  }
  if (isSummed) return;
  for (const part of document.querySelectorAll('[data-land]')) {
    part.animate([{ opacity: 0, transform: 'translateY(.3em)' }, { opacity: 1, transform: 'none' }], landing(part.dataset.land));
  }
  for (const total of document.querySelectorAll('.greater [data-turn]')) {
    const { color } = getComputedStyle(total.parentElement);
    total.animate([{ background: 'transparent', color }, { background: 'transparent', color }], landing(Number(total.dataset.turn) + 1));
  }
  for (const step of document.querySelectorAll('[data-fill]')) {
    const { color } = getComputedStyle(step.parentElement);
    step.animate([{ background: 'transparent', color }, { background: 'transparent', color }], { ...landing(0), duration: SUM_MS * step.dataset.fill });
  }
}

document.addEventListener('shown', play);
play();
