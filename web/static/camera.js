// The live picture: one frame after the other is asked for, and none while nobody sees it.
const PERIOD_MS = 250;
const LATER_MS = 1000;
const { root } = document.documentElement.dataset; // what every address begins with under a proxy's path
const picture = document.getElementById('frame');
let inView = true;
let pulling = false;
let shown = '';

const pause = ms => new Promise(done => { setTimeout(done, ms); });

function show(blob) {
  URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(blob);
  picture.src = shown;
  document.getElementById('no-frame').hidden = true;
}

async function pull() {
  if (pulling) return;
  pulling = true;
  while (inView && !document.hidden) {
    const began = performance.now();
    let good = false;
    try {
      const answer = await fetch(`${root}/camera/frame.jpg`);
      good = answer.ok;
      if (good) show(await answer.blob());
    } catch { /* the stream of the page says that the table is gone */ }
    if (!good) document.getElementById('no-frame').hidden = false;
    await pause(good ? Math.max(20, PERIOD_MS - (performance.now() - began)) : LATER_MS);
  }
  pulling = false;
}

document.addEventListener('visibilitychange', pull);
new IntersectionObserver(entries => { inView = entries.at(-1).isIntersecting; pull(); }).observe(picture.parentElement);
pull();
