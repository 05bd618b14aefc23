// The camera's live picture on the owner's page. Frames are requested one after the other, and none while nobody sees them.
const FRAME_INTERVAL_MS = 250; // a shorter interval would be smoother, but more work for a Raspberry Pi
const MIN_PAUSE_MS = 20;
const RETRY_MS = 1000;
const { root } = document.documentElement.dataset; // prefix of every address, if a proxy serves the pages under a path
const picture = document.getElementById('frame');
let isInView = true;
let isRequesting = false;
let shownUrl = '';

const pause = ms => new Promise(resolve => { setTimeout(resolve, ms); });

function show(blob) {
  URL.revokeObjectURL(shownUrl);
  shownUrl = URL.createObjectURL(blob);
  picture.src = shownUrl;
  document.getElementById('no-frame').hidden = true;
}

async function requestFrames() {
  if (isRequesting) return;
  isRequesting = true;
  while (isInView && !document.hidden) {
    const startMs = performance.now();
    let isGood = false;
    try {
      const answer = await fetch(`${root}/camera/frame.jpg`);
      isGood = answer.ok;
      if (isGood) show(await answer.blob());
    } catch { /* the page's stream reports a lost connection */ }
    if (!isGood) document.getElementById('no-frame').hidden = false;
    await pause(isGood ? Math.max(MIN_PAUSE_MS, FRAME_INTERVAL_MS - (performance.now() - startMs)) : RETRY_MS);
  }
  isRequesting = false;
}

document.addEventListener('visibilitychange', requestFrames);
new IntersectionObserver(entries => { isInView = entries.at(-1).isIntersecting; requestFrames(); }).observe(picture.parentElement);
requestFrames();
