// An old phone as the camera: sends a picture whenever the table wants one, and shows what the table reads in it.
// One picture is on its way at a time, so that a slow line leaves pictures out and never queues them.
const LONGEST_PX = 1280;
const QUALITY = 0.8;
const ANSWER_MS = 5000;
const AGAIN_MS = 1000;
const SETTLE_MS = 3000; // automatic focus and exposure need about so long
const RATE_MS = 3000;
const SLOW_MS = 200; // a picture and its answer that take longer give fewer than five a second
const FULL = 0.95;
const LOW = 0.2;

const { root } = document.documentElement.dataset; // what every address begins with under a proxy's path
const page = document.querySelector('.eye');
const video = document.getElementById('live');
const seen = document.getElementById('seen');
const words = document.getElementById('words');
const canvas = document.createElement('canvas');
const at = id => document.getElementById(id);
const pause = ms => new Promise(done => { setTimeout(done, ms); });

let isWanted = false;
let isRunning = false;
let isCamera = 'camera' in page.dataset;
let track = null;
let lock = null;
let sent = [];

function tell(text, isGood = false) {
  words.querySelector('span').textContent = text;
  words.classList.toggle('good', isGood);
}

// ---- the camera ----

async function openCamera() {
  if (track?.readyState === 'live') return;
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: false,
    video: { facingMode: 'environment', width: { ideal: LONGEST_PX }, height: { ideal: 960 }, frameRate: { ideal: 30 } },
  });
  [track] = stream.getVideoTracks();
  video.srcObject = stream;
  await video.play();
  setTimeout(holdStill, SETTLE_MS, track);
}

// Focus and exposure should not follow hands. A browser that cannot hold them says so by having no such setting.
async function holdStill(which) {
  const can = which.getCapabilities?.() ?? {};
  const is = which.getSettings();
  const held = {};
  if (can.focusMode?.includes('manual') && is.focusDistance) Object.assign(held, { focusMode: 'manual', focusDistance: is.focusDistance });
  if (can.exposureMode?.includes('manual') && is.exposureTime) {
    Object.assign(held, { exposureMode: 'manual', exposureTime: is.exposureTime }, is.iso ? { iso: is.iso } : {});
  }
  try {
    if (Object.keys(held).length) await which.applyConstraints({ advanced: [held] });
  } catch { /* it follows by itself, as before */ }
}

// Draws the next picture of the camera; answers when it was taken, by this page's clock.
const nextFrame = () => new Promise(done => {
  const draw = (now, more) => {
    const scale = Math.min(1, LONGEST_PX / Math.max(video.videoWidth, video.videoHeight));
    canvas.width = Math.round(video.videoWidth * scale);
    canvas.height = Math.round(video.videoHeight * scale);
    canvas.getContext('2d').drawImage(video, 0, 0, canvas.width, canvas.height);
    done(more?.captureTime ?? now);
  };
  if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(draw);
  else requestAnimationFrame(draw);
});

const jpeg = () => new Promise(done => { canvas.toBlob(done, 'image/jpeg', QUALITY); });

// ---- the table ----

const ask = (address, options) => fetch(root + address, { method: 'POST', signal: AbortSignal.timeout?.(ANSWER_MS), ...options });

async function pair() {
  if (isCamera) return;
  if (!page.dataset.code) throw new Refused(page.dataset.scan);
  const answer = await ask('/api/eye/pair', {
    headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code: page.dataset.code }),
  });
  if (!answer.ok) throw new Refused((await answer.json()).error.message);
  isCamera = true;
  history.replaceState(null, '', `${root}/eye`); // the code is used up
}

class Refused extends Error {}

async function run() {
  if (isRunning) return;
  isRunning = true;
  let clock = null; // the table's time in the last answer, and when that came
  while (isWanted) {
    try {
      await openCamera();
      await pair();
      let address = '/api/eye/picture';
      let body = null;
      if (clock) {
        const taken = await nextFrame();
        address += `?taken_ms=${clock.table + taken - clock.here}`;
        body = await jpeg();
      }
      const began = performance.now();
      const answer = await ask(address, { headers: { 'Content-Type': 'image/jpeg' }, body });
      const told = await answer.json();
      if (answer.status === 403) throw new Refused(told.error.message);
      if (!answer.ok) throw new Error(String(answer.status));
      clock = { table: told.now_ms, here: performance.now() };
      show(told, body ? clock.here - began : 0);
      await pause(told.wait_ms);
    } catch (error) {
      clock = null;
      if (error instanceof Refused) {
        stop(error.message);
      } else if (['NotAllowedError', 'NotFoundError', 'NotReadableError', 'OverconstrainedError'].includes(error.name)) {
        stop(page.dataset.denied);
      } else {
        tell(page.dataset.lost);
        await pause(AGAIN_MS);
      }
    }
  }
  isRunning = false;
}

function show(told, took) {
  if ('drawing' in told) {
    seen.innerHTML = told.drawing;
    tell(told.words || page.dataset.starting, told.is_well);
  }
  if (!took) return;
  const now = performance.now();
  sent = [...sent, now].filter(when => now - when <= RATE_MS);
  const rate = at('rate');
  const text = rate.querySelector('span');
  rate.dataset.words ??= text.textContent;
  text.textContent = rate.dataset.words.replace('#', Math.round(sent.length / (RATE_MS / 1000)));
  rate.hidden = false;
  rate.classList.toggle('low', took > SLOW_MS);
}

// ---- the screen ----

async function stayAwake() {
  try {
    if (isWanted && !document.hidden) lock = await navigator.wakeLock?.request('screen');
  } catch { /* the phone's own time-out goes on */ }
}

async function watchBattery() {
  const battery = await navigator.getBattery?.();
  if (!battery) return;
  const look = () => {
    at('battery').hidden = false;
    at('battery').querySelector('span').textContent = `${Math.round(100 * battery.level)} %`;
    at('level').setAttribute('transform', `scale(${battery.level} 1) translate(${16 / battery.level - 16} 0)`);
    at('battery').classList.toggle('low', battery.level < LOW);
    at('plug').hidden = battery.charging && battery.level >= FULL;
  };
  battery.addEventListener('levelchange', look);
  battery.addEventListener('chargingchange', look);
  look();
}

// ---- keys ----

function start() {
  isWanted = true;
  at('start').hidden = true;
  at('stop').hidden = false;
  tell(page.dataset.starting);
  stayAwake();
  run();
}

function stop(text = page.dataset.ready) {
  isWanted = false;
  at('stop').hidden = true;
  at('start').hidden = false;
  at('rate').hidden = true;
  seen.replaceChildren();
  track?.stop();
  lock?.release();
  tell(text);
}

at('stop').addEventListener('click', () => stop());
at('start').addEventListener('click', start);
at('dim').addEventListener('click', () => { at('dark').hidden = false; at('dark').focus(); });
at('dark').addEventListener('click', () => { at('dark').hidden = true; at('dim').focus(); });
document.addEventListener('visibilitychange', stayAwake);
watchBattery();
if (navigator.mediaDevices) start();
else stop(page.dataset.none);
