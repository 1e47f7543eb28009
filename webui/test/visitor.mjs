// What the page of one task can do to another of its visitor's tasks, in a real
// browser against the real API, proxy and gateway. master/api/proxy_browser_test.go
// starts them and says in the environment what is there:
//
//   CHROMIUM        the browser
//   DETENT_WORLD    {"master": origin, "hostile": path, "own": path, "id": of own, "pages": "one" or "own"}
//
// hostile is a task of somebody else's that an admin opens, own is the admin's. pages
// says whether all tasks share one origin or each has its own. The other side looks
// at what the program of own has been asked.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const { master, hostile, own, id, pages } = JSON.parse(process.env.DETENT_WORLD);
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

const opens = (page) => page.getByRole('button', { name: 'Open it' });
const program = (page) => page.getByText('program of');

// asks waits for the question whether to open the task, or for the task, and then presses the button.
async function asks(page, what) {
  await opens(page).or(program(page)).waitFor();
  assert.equal(await program(page).count(), 0, `${what} opens the task, and nobody has asked for it`);
  await opens(page).click();
  await program(page).waitFor();
}

// byThePages: the hostile page lets the master's own pages lead its visitor to the visitor's task.
async function byThePages(context, page) {
  const windowOf = async (path) => {
    const [popup] = await Promise.all([context.waitForEvent('page'), page.evaluate((at) => { window.open(at); }, master + path)]);
    return popup;
  };
  for (const path of [`/wait/notebooks/${id}`, `/det/interactive/${id}/notebook/x`]) {
    const popup = await windowOf(path);
    await opens(popup).or(program(popup)).waitFor();
    for (let i = 0; i < 2; i++) await popup.waitForResponse((r) => r.url().endsWith(`/tasks/${id}`)); // the page looks again
    await asks(popup, path);
    await popup.close();
  }
  for (const next of [own, `/wait/notebooks/${id}`]) {
    const popup = await windowOf(`/login?next=${encodeURIComponent(next)}`);
    await popup.getByLabel('Username').fill('admin');
    await popup.getByRole('button', { name: 'Sign in' }).click();
    await asks(popup, `the sign-in before ${next}`);
    await popup.close();
  }
  // What the visitor opens on the pages needs no second click, where the browser says who opened an address.
  const list = await context.newPage();
  for (const state of ['STATE_RUNNING', 'STATE_STARTING']) {
    await list.addInitScript((state) => {
      const asked = window.fetch;
      window.fetch = async (...call) => {
        const answer = await asked(...call);
        if (!/api\/v1\/notebooks/.test(String(call[0]))) return answer;
        const body = await answer.json();
        for (const n of body.notebooks ?? []) n.state = state;
        return new Response(JSON.stringify(body), answer);
      };
    }, state);
    await list.goto(`${master}/tasks?kind=notebooks`);
    const row = list.getByRole('row').filter({ has: list.locator(`a[href^="/tasks/${id}"]`) });
    const [opened] = await Promise.all([context.waitForEvent('page'), row.getByRole('link', { name: 'Open', exact: true }).click()]);
    if (state === 'STATE_RUNNING' && plain) await opens(opened).click();
    await program(opened).waitFor();
    await opened.close();
  }
  await list.close();
}

const plain = !new URL(master).hostname.match(/^(localhost|127\.)/);
try {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  context.setDefaultTimeout(30_000);
  context.on('requestfailed', (r) => console.log('failed:', r.method(), r.url(), r.failure()?.errorText));
  if (process.env.DETENT_TRACE) context.on('request', (r) => console.log('request:', r.method(), r.url(), JSON.stringify(r.headers()))), context.on('response', (r) => console.log('response:', r.status(), r.url(), JSON.stringify(r.headers())));
  context.on('console', (m) => console.log('console:', m.text()));
  const page = await context.newPage();
  await page.goto(`${master}/`);
  const signedIn = await page.evaluate(() => fetch('/api/v1/auth/login', { method: 'POST', body: JSON.stringify({ username: 'admin', password: '', isHashed: true }) }).then((r) => r.status));
  assert.equal(signedIn, 200, 'the sign-in');
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

  await byThePages(context, page);

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
