// What the page of one task can do to another of its visitor's tasks, in a real
// browser against the real API, proxy and gateway. master/api/proxy_browser_test.go
// starts them and says in the environment what is there:
//
//   CHROMIUM        the browser
//   DETENT_WORLD    {"master": origin, "hostile": path, "own": path, "pages": "one" or "own"}
//
// hostile is a task of somebody else's that an admin opens, own is the admin's. pages
// says whether all tasks share one origin or each has its own. The other side looks
// at what the program of own has been asked.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const { master, hostile, own, pages } = JSON.parse(process.env.DETENT_WORLD);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  // detent.test is a host that is not this machine's by name: what it is told by plain
  // HTTP has no Sec-Fetch-* in it.
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP detent.test 127.0.0.1', '--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable'],
});

// open goes to a task as a person does: by its address, and confirming if asked.
async function open(page, path) {
  await page.goto(master + path);
  const button = page.locator('form button', { hasText: 'Open it' });
  const asked = await button.count() > 0;
  if (asked) await button.click();
  try {
    await page.getByText('program of').waitFor();
  } catch (e) {
    throw new Error(`${path} is not open: ${page.url()} shows ${await page.content()}`, { cause: e });
  }
  return asked;
}

try {
  const context = await browser.newContext();
  context.setDefaultTimeout(30_000);
  context.on('requestfailed', (r) => console.log('failed:', r.method(), r.url(), r.failure()?.errorText));
  if (process.env.DETENT_TRACE) context.on('request', (r) => console.log('request:', r.method(), r.url(), JSON.stringify(r.headers()))), context.on('response', (r) => console.log('response:', r.status(), r.url(), JSON.stringify(r.headers())));
  context.on('console', (m) => console.log('console:', m.text()));
  const page = await context.newPage();
  await page.goto(`${master}/`);
  const signedIn = await page.evaluate(() => fetch('/api/v1/auth/login', { method: 'POST', body: JSON.stringify({ username: 'admin', password: '', isHashed: true }) }).then((r) => r.status));
  assert.equal(signedIn, 200, 'the sign-in');
  const plain = !new URL(master).hostname.match(/^(localhost|127\.)/);
  const asked = await open(page, hostile);
  const origin = new URL(page.url()).origin;
  console.log('on the hostile page', page.url());

  // From here on the hostile page's script acts: it has a frame and a window go to the
  // visitor's own task by way of the master, and then asks that task for things.
  const seen = await page.evaluate(async ({ master, own }) => {
    const at = (ms) => new Promise((done) => { setTimeout(done, ms); });
    const frame = document.createElement('iframe');
    const loaded = new Promise((done) => { frame.onload = done; frame.onerror = done; });
    frame.src = master + own;
    document.body.append(frame);
    const popup = window.open(`${master}${own}?popup`);
    await Promise.race([loaded, at(5000)]);
    const end = Date.now() + 5000;
    const answers = [];
    const form = document.createElement('form');
    form.method = 'post';
    form.action = master + own;
    form.target = 'third';
    document.body.append(form);
    form.submit();
    while (Date.now() < end) {
      const answer = await fetch(own, { method: 'POST', body: 'evil' });
      answers.push(`${answer.status} ${(await answer.text()).slice(0, 60)}`);
      if (answer.ok) break;
      await at(250);
    }
    let reads = '';
    try { reads = popup.document.body.innerText; } catch (e) { reads = e.name; }
    return { answers, reads };
  }, { master, own });
  console.log('the hostile page got', JSON.stringify(seen));
  assert.ok(!seen.answers.some((a) => a.startsWith('200')), 'the hostile page acts on another task of its visitor');
  assert.equal(asked, plain, 'somebody is asked where the browser does not say who opened the address, and only there');

  // Its person opens the own task: that works.
  const mine = await context.newPage();
  await open(mine, own);
  assert.equal(await mine.evaluate(() => fetch('', { method: 'POST', body: 'mine' }).then((r) => r.status)), 200, 'a page on its own task');
  if (pages === 'own') {
    assert.notEqual(new URL(mine.url()).origin, origin, 'each task has an origin of its own');
    // The visitor has a cookie for that task now. The hostile page can use it no more than before.
    const after = await page.evaluate(async (address) => {
      const how = [];
      for (const mode of ['no-cors', 'cors']) {
        try { how.push((await fetch(address, { method: 'POST', body: 'evil', mode, credentials: 'include' })).type); } catch (e) { how.push(e.name); }
      }
      return how;
    }, mine.url());
    console.log('with the cookie there, the hostile page got', JSON.stringify(after));
  }
} finally {
  await browser.close();
}
