// An old phone as the camera. It sends a picture whenever the table wants one, and shows what the table reads in the pictures.
// A picture is taken only after the answer to the last one has come. So over a slow connection there are fewer pictures, and
// none is old when it arrives.
const MAX_SIDE_PX = 1280;
const JPEG_QUALITY = 0.8;
const ANSWER_TIMEOUT_MS = 5000;
const RETRY_MS = 1000;
const SETTLE_MS = 3000; // the time that automatic focus and exposure need to settle
const RATE_WINDOW_MS = 3000; // the shown rate is an average over this time
const SLOW_MS = 200; // if a picture with its answer takes longer, fewer than five a second are possible
const FULL_BATTERY = 0.95;
const LOW_BATTERY = 0.2;

const { root } = document.documentElement.dataset; // prefix of every address, if a proxy serves the pages under a path
const page = document.querySelector('.eye');
const video = document.getElementById('live');
const overlay = document.getElementById('seen');
const sentence = document.getElementById('words');
const canvas = document.createElement('canvas');
const byId = id => document.getElementById(id);
const pause = ms => new Promise(resolve => { setTimeout(resolve, ms); });

let isSwitchedOn = false;
let isRunning = false;
let isPaired = 'camera' in page.dataset;
let track = null;
let wakeLock = null;
let sendTimesMs = []; // the times of the last pictures

function showSentence(text, isGood = false) {
  sentence.querySelector('span').textContent = text;
  sentence.classList.toggle('good', isGood);
}

// ---- the camera ----

// Open the camera at the back of the phone, unless it is open.
async function openCamera() {
  if (track?.readyState === 'live') return;
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: false,
    video: { facingMode: 'environment', width: { ideal: MAX_SIDE_PX }, height: { ideal: 960 }, frameRate: { ideal: 30 } },
  });
  [track] = stream.getVideoTracks();
  video.srcObject = stream;
  await video.play();
  setTimeout(lockFocusAndExposure, SETTLE_MS, track);
}

// Keep focus and exposure as they are now, so that they do not follow hands over the board. In a browser that cannot do so, both
// stay automatic.
async function lockFocusAndExposure(videoTrack) {
  const capabilities = videoTrack.getCapabilities?.() ?? {};
  const current = videoTrack.getSettings();
  const locked = {};
  if (capabilities.focusMode?.includes('manual') && current.focusDistance) Object.assign(locked, { focusMode: 'manual', focusDistance: current.focusDistance });
  if (capabilities.exposureMode?.includes('manual') && current.exposureTime) {
    Object.assign(locked, { exposureMode: 'manual', exposureTime: current.exposureTime }, current.iso ? { iso: current.iso } : {});
  }
  try {
    if (Object.keys(locked).length) await videoTrack.applyConstraints({ advanced: [locked] });
  } catch { /* both stay automatic */ }
}

// Draw the next picture of the camera on the canvas. Return when it was taken, in ms by this page's clock.
const nextFrame = () => new Promise(resolve => {
  const draw = (nowMs, metadata) => {
    const scale = Math.min(1, MAX_SIDE_PX / Math.max(video.videoWidth, video.videoHeight));
    canvas.width = Math.round(video.videoWidth * scale);
    canvas.height = Math.round(video.videoHeight * scale);
    canvas.getContext('2d').drawImage(video, 0, 0, canvas.width, canvas.height);
    resolve(metadata?.captureTime ?? nowMs);
  };
  if (video.requestVideoFrameCallback) video.requestVideoFrameCallback(draw);
  else requestAnimationFrame(draw);
});

const jpeg = () => new Promise(resolve => { canvas.toBlob(resolve, 'image/jpeg', JPEG_QUALITY); });

// ---- the table ----

const post = (address, options) => fetch(root + address, { method: 'POST', signal: AbortSignal.timeout?.(ANSWER_TIMEOUT_MS), ...options });

// Make this phone the camera by the code in its address, unless it is already. Throws `Refused`.
async function pair() {
  if (isPaired) return;
  if (!page.dataset.code) throw new Refused(page.dataset.scan);
  const answer = await post('/api/eye/pair', {
    headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code: page.dataset.code }),
  });
  if (!answer.ok) throw new Refused((await answer.json()).error?.message ?? page.dataset.lost);
  isPaired = true;
  history.replaceState(null, '', `${root}/eye`); // each code pairs one phone
}

// The table has refused a request. The message says why.
class Refused extends Error {}

// Send pictures until the camera is switched off.
async function sendPictures() {
  if (isRunning) return;
  isRunning = true;
  let clock = null; // the table's time in the last answer, and this page's time when it arrived, both in ms
  while (isSwitchedOn) {
    try {
      await openCamera();
      await pair();
      let address = '/api/eye/picture';
      let body = null;
      if (clock) {
        const takenMs = await nextFrame();
        address += `?taken_ms=${clock.tableMs + takenMs - clock.pageMs}`;
        body = await jpeg();
      }
      const startMs = performance.now();
      const answer = await post(address, { headers: { 'Content-Type': 'image/jpeg' }, body });
      const content = await answer.json();
      if (answer.status === 403) throw new Refused(content.error?.message ?? page.dataset.lost);
      if (!answer.ok) throw new Error(String(answer.status));
      clock = { tableMs: content.now_ms, pageMs: performance.now() };
      showAnswer(content, body ? clock.pageMs - startMs : 0);
      await pause(content.wait_ms);
    } catch (error) {
      clock = null;
      if (error instanceof Refused) {
        stop(error.message);
      } else if (['NotAllowedError', 'NotFoundError', 'NotReadableError', 'OverconstrainedError'].includes(error.name)) {
        stop(page.dataset.denied);
      } else {
        showSentence(page.dataset.lost);
        await pause(RETRY_MS);
      }
    }
  }
  isRunning = false;
}

// Show the reading in an answer, and the rate of pictures. `durationMs` is the time for a picture and its answer, 0 without one.
function showAnswer(content, durationMs) {
  if ('drawing' in content) {
    overlay.innerHTML = content.drawing;
    showSentence(content.words || page.dataset.starting, content.is_well);
  }
  if (!durationMs) return;
  const nowMs = performance.now();
  sendTimesMs = [...sendTimesMs, nowMs].filter(timeMs => nowMs - timeMs <= RATE_WINDOW_MS);
  const rate = byId('rate');
  const text = rate.querySelector('span');
  rate.dataset.words ??= text.textContent;
  text.textContent = rate.dataset.words.replace('#', Math.round(sendTimesMs.length / (RATE_WINDOW_MS / 1000)));
  rate.hidden = false;
  rate.classList.toggle('low', durationMs > SLOW_MS);
}

// ---- the screen ----

async function updateWakeLock() {
  try {
    if (isSwitchedOn && !document.hidden) wakeLock = await navigator.wakeLock?.request('screen');
  } catch { /* refused: the phone turns its screen off as usual */ }
}

async function watchBattery() {
  const battery = await navigator.getBattery?.();
  if (!battery) return;
  const showLevel = () => {
    byId('battery').hidden = false;
    byId('battery').querySelector('span').textContent = `${Math.round(100 * battery.level)} %`;
    byId('level').setAttribute('transform', `scale(${battery.level} 1) translate(${16 / battery.level - 16} 0)`);
    byId('battery').classList.toggle('low', battery.level < LOW_BATTERY);
    byId('plug').hidden = battery.charging && battery.level >= FULL_BATTERY;
  };
  battery.addEventListener('levelchange', showLevel);
  battery.addEventListener('chargingchange', showLevel);
  showLevel();
}

// ---- keys ----

function start() {
  isSwitchedOn = true;
  byId('start').hidden = true;
  byId('stop').hidden = false;
  showSentence(page.dataset.starting);
  updateWakeLock();
  sendPictures();
}

function stop(text = page.dataset.ready) {
  isSwitchedOn = false;
  byId('stop').hidden = true;
  byId('start').hidden = false;
  byId('rate').hidden = true;
  overlay.replaceChildren();
  track?.stop();
  wakeLock?.release();
  showSentence(text);
}

byId('stop').addEventListener('click', () => stop());
byId('start').addEventListener('click', start);
byId('dim').addEventListener('click', () => { byId('dark').hidden = false; byId('dark').focus(); });
byId('dark').addEventListener('click', () => { byId('dark').hidden = true; byId('dim').focus(); });
document.addEventListener('visibilitychange', updateWakeLock);
watchBattery();
if (navigator.mediaDevices) start();
else stop(page.dataset.none);
