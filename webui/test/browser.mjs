// What a person does with the pages, in a real browser against a real master (story.mjs).
// `node test/browser.mjs NAME…` runs the stories whose names hold one of the words.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { ask, enter, pagesOf, patience, pictures, points, post, rows, signIn, sound, tell, until, url, violations, world } from './story.mjs';

const stories = {
  'a wrong password is refused in words, and the right one leads on': async (page) => {
    await page.goto(`${url}/experiments/${world.done}/checkpoints?sort=metric`);
    await page.getByLabel('Username').fill('determined');
    await page.getByLabel('Password').fill('not this one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'Wrong username or password' }).waitFor();
    await page.getByLabel('Password').fill('');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await rows(page, 'checkpoints').first().waitFor();
    const u = new URL(page.url());
    assert.equal(u.pathname + u.search, `/experiments/${world.done}/checkpoints?sort=metric`, 'the sign-in leads to where one was going');
    assert.equal(await page.locator('.tr.marked .tag.best').count(), 1, 'the best checkpoint is marked, once');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
    await page.goto(`${url}/cluster`);
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
  },

  'a message to all users is over every page': async (page) => {
    await page.goto(url);
    await page.getByLabel('Username').fill('admin');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL((u) => !u.pathname.startsWith('/login'));
    const set = (method, body) => page.evaluate(async ([method, body]) => (await fetch('/api/v1/master/cluster_message', { method, body })).status, [method, body]);
    const text = 'Maintenance on Friday from 18:00 <b>to</b> 20:00';
    assert.equal(await set('PUT', JSON.stringify({ message: text, duration: '1h' })), 200);
    try {
      for (const to of ['/experiments', '/tasks', '/cluster']) {
        await page.goto(url + to);
        await page.locator('.banner').filter({ hasText: text }).waitFor();
      }
      const hidden = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
      assert.equal(hidden, 0, 'the message makes no page wider');
    } finally {
      assert.equal(await set('DELETE'), 200);
    }
    await page.goto(url);
    await page.getByRole('link', { name: 'Experiments' }).waitFor();
    assert.equal(await page.locator('.banner').count(), 0);
  },

  'a sign-in leads nowhere else': async (page) => {
    await signIn(page, '/login?next=%2F%2Fexample.org%2Fx');
    assert.equal(new URL(page.url()).origin, url);
  },

  'the list finds, orders and selects, and its address can be sent': async (page) => {
    await signIn(page);
    await rows(page, 'experiments').first().waitFor();
    await page.getByLabel('search by name').fill('ui-done');
    await until('one row', async () => (await rows(page, 'experiments').count()) === 1);
    assert.match(page.url(), /name=ui-done/);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await until('the order in the address', async () => page.url().includes('sort=name'));
    await page.reload();
    assert.equal(await page.getByLabel('search by name').inputValue(), 'ui-done');
    await until('one row again', async () => (await rows(page, 'experiments').count()) === 1);
    const grid = page.getByRole('grid', { name: 'experiments' });
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByText('1 selected').waitFor();
    await page.getByRole('toolbar', { name: 'actions on the selection' }).getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: `Experiment ${world.done} archived` }).waitFor();
    await page.getByText('No experiment matches.').waitFor();
    await page.getByLabel('archived').selectOption('only');
    await until('the archived one', async () => (await rows(page, 'experiments').count()) === 1);
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Unarchive' }).click();
    await page.getByRole('status').filter({ hasText: 'unarchived' }).waitFor();
    await page.goto(`${url}/experiments?name=ui-done`);
    await until('it is back', async () => (await rows(page, 'experiments').count()) === 1);
    await page.getByRole('grid', { name: 'experiments' }).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/experiments/${world.done}`);
  },

  'the filters fit into one row at 1,400 pixels, also when they are in use': async (page) => {
    await signIn(page);
    await page.setViewportSize({ width: 1400, height: 800 });
    for (const query of ['', '?state=ACTIVE&state=PAUSED&state=ERROR&archived=all&user=determined&where=hp.lr+%3C+0.5&compose=1']) {
      await page.goto(`${url}/experiments${query}`);
      await page.getByRole('button', { name: 'Compose' }).waitFor();
      const height = await page.locator('.table > .tools').first().evaluate((el) => el.getBoundingClientRect().height);
      assert.ok(height < 44, `the row of filters is ${height} pixels high (${query})`);
    }
  },

  'a filter finds by metrics and hyperparameters, and says where it is wrong': async (page) => {
    await signIn(page);
    await rows(page, 'experiments').first().waitFor();
    await page.getByLabel('filter', { exact: true }).fill('validation.val_loss < 0.1 and name ~ ui-done');
    await until('one row', async () => (await rows(page, 'experiments').count()) === 1);
    assert.equal(new URL(page.url()).searchParams.get('where'), 'validation.val_loss < 0.1 and name ~ ui-done');
    await page.reload();
    await until('one row again', async () => (await rows(page, 'experiments').count()) === 1);
    await page.getByLabel('filter', { exact: true }).fill('name ~ ui-done and lables = x');
    const wrong = page.getByRole('alert').filter({ hasText: 'there is no column "lables"' });
    await wrong.waitFor();
    assert.equal(await wrong.locator('mark').textContent(), 'lables', 'the place is marked');
    assert.equal(await page.getByLabel('filter', { exact: true }).getAttribute('aria-invalid'), 'true');
    await page.getByLabel('filter', { exact: true }).fill('name = nothing-has-this-name');
    await page.getByText('No experiment matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await until('all of them', async () => (await rows(page, 'experiments').count()) > 1);
    assert.equal(await page.getByLabel('filter', { exact: true }).inputValue(), '');
  },

  'a curve grows while the training runs': async (page) => {
    await signIn(page, `/experiments/${world.live}`);
    const first = await until('a first point', () => points(page, 'loss'));
    await until('more points', async () => (await points(page, 'loss')) >= first + 3);
    assert.equal(await page.locator('.link.live').count(), 1);
    const pixels = await page.evaluate(() => {
      const canvas = document.querySelector('.plot canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let drawn = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) drawn++;
      return drawn;
    });
    assert.ok(pixels > 1000, `the canvas has ${pixels} drawn pixels`);
    // The list moves too, without being asked again.
    await page.getByRole('navigation', { name: 'pages' }).getByRole('link', { name: 'Experiments' }).click();
    const row = rows(page, 'experiments').filter({ hasText: 'ui-live' });
    const done = async () => Number(await row.getByRole('progressbar').getAttribute('aria-valuenow'));
    const before = await done();
    await until('progress', async () => (await done()) > before);
  },

  'the controls of the curves are in the address': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    const all = await until('points', () => points(page, 'loss'));
    const over = page.locator('.plot .u-over').first();
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 50, { steps: 5 });
    await page.mouse.up();
    await until('the zoom in the address', async () => /z\.loss=\d+/.test(page.url()));
    await until('the range alone', async () => {
      const n = await points(page, 'loss');
      return n > 0 && n < all;
    });
    await page.getByText('Log scale').click();
    await page.getByRole('slider').fill('0.6');
    await page.getByRole('button', { name: 'Time' }).click();
    const address = page.url();
    for (const part of ['log=1', 'smooth=0.6', 'x=time']) assert.ok(address.includes(part), `${part} in ${address}`);
    await page.reload();
    assert.equal(await page.getByRole('slider').inputValue(), '0.6');
    await page.goto(`${url}/experiments/${world.done}?z.loss=20~60`);
    await until('the zoom of a link', async () => {
      const scale = await page.evaluate(() => window.__charts?.loss && [window.__charts.loss.scales.x.min, window.__charts.loss.scales.x.max]);
      return scale && scale[0] === 20 && scale[1] === 60;
    });
    await page.getByRole('button', { name: 'whole range' }).click();
    await until('all points again', async () => (await points(page, 'loss')) === all);
  },

  'trials of a search are compared': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials?sort=metric`);
    const trials = rows(page, 'trials');
    await until('three trials', async () => (await trials.count()) === 3);
    const head = await page.getByRole('grid', { name: 'trials' }).locator('.th').textContent();
    assert.ok(head.includes('width') && !head.includes('depth'), `hyperparameters that differ are shown, and no others: ${head}`);
    assert.equal(await page.locator('.tr.marked').count(), 1, 'the best trial is marked');
    for (const i of [0, 1]) await trials.nth(i).getByRole('checkbox').check();
    await page.getByRole('link', { name: 'Compare the curves of 2' }).click();
    await until('training and validation of two trials', () => page.evaluate(() => window.__charts?.loss?.series.length === 5));
    assert.match(page.url(), /trials=\d+(,|%2C)\d+/);
    await page.getByText('The chosen 2 of 3 trials').waitFor();
    // Pointing at a line tells its trial, and a click opens it.
    const over = page.locator('.plot .u-over').first();
    const box = await over.boundingBox();
    const spot = await page.evaluate(() => {
      const u = window.__charts.loss, i = u.data[1].findLastIndex((v) => typeof v === 'number');
      return [u.valToPos(u.data[0][i], 'x'), u.valToPos(u.data[1][i], 'y'), u.series[1].label];
    });
    await page.mouse.move(box.x + spot[0] - 2, box.y + spot[1]);
    await page.locator('.picked').filter({ hasText: /trial \d+/ }).first().waitFor();
    await page.getByRole('link', { name: 'choose others' }).click();
    const first = await rows(page, 'trials').first().getByRole('link').textContent();
    await rows(page, 'trials').first().click();
    await page.waitForURL(`**/trials/${first}`);
    await until('its curve', () => points(page, 'loss'));
  },

  'the hyperparameters of a search: what is chosen in one view is marked in all': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials`);
    await page.getByRole('navigation', { name: 'parts of this page' }).getByRole('link', { name: 'Hyperparameters' }).click();
    await page.getByText('3 trials. Drag along an axis').waitFor();
    await until('three rows', async () => (await rows(page, 'chosen trials').count()) === 3);
    const lines = page.getByRole('img', { name: /^Parallel coordinates of 3 trials over width, val_loss/ });
    const drawn = () => lines.evaluate((el) => [...el.querySelectorAll('canvas')].map((c) => {
      const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      let n = 0;
      for (let i = 3; i < data.length; i += 4) if (data[i]) n++;
      return n;
    }));
    const before = await until('lines on the canvas', async () => {
      const n = await drawn();
      return n[1] > 200 && n;
    });
    // Dragging along the first axis, from its middle to beyond its top, chooses the larger widths.
    const box = await lines.boundingBox();
    await page.mouse.move(box.x + 64, box.y + 180);
    await page.mouse.down();
    await page.mouse.move(box.x + 64, box.y + 100, { steps: 4 });
    await page.mouse.move(box.x + 64, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.getByText(/^[12] of 3 trials chosen/).waitFor();
    assert.match(new URL(page.url()).searchParams.get('brush'), /^\{"width":\[[\d.]+,[\d.]+\]\}$/);
    await until('fewer rows', async () => (await rows(page, 'chosen trials').count()) < 3);
    const after = await drawn();
    assert.ok(after[0] > 0 && after[1] < before[1], `lines that are not chosen are pale: ${before} then ${after}`);
    await page.reload();
    await page.getByText(/^[12] of 3 trials chosen/).waitFor();
    await page.getByRole('button', { name: 'take away the choice of width' }).click();
    await page.getByText('3 trials. Drag along an axis').waitFor();
    // The same without a mouse.
    const value = Number((await rows(page, 'chosen trials').first().locator('.td').nth(2).textContent()).replace('best', ''));
    assert.ok(value > 0 && value < 1, `the best trial is first: ${value}`);
    await page.getByRole('button', { name: 'choose ranges by typing' }).click();
    await page.getByLabel('width, from').fill('0');
    await page.getByLabel('width, to').fill('0.5');
    await page.getByLabel('width, to').press('Enter');
    await page.getByText('No trial is within these ranges.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText('At least 12 trials with a value of val_loss are needed.').waitFor();
    await rows(page, 'chosen trials').first().click();
    await page.waitForURL('**/trials/*');
  },

  'trials of two experiments are compared side by side': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials?sort=metric`);
    await until('three trials', async () => (await rows(page, 'trials').count()) === 3);
    for (const i of [0, 1]) await rows(page, 'trials').nth(i).getByRole('checkbox').check();
    await page.getByRole('link', { name: 'Side by side' }).click();
    await until('training and validation of two trials', () => page.evaluate(() => window.__charts?.loss?.series.length === 5));
    await page.getByLabel('add a trial or an experiment').fill(`experiment ${world.done}`);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await until('training and validation of three trials', () => page.evaluate(() => window.__charts?.loss?.series.length === 7));
    const legend = () => page.evaluate(() => window.__charts.loss.series.slice(1).map((s) => s.label));
    assert.equal((await legend()).filter((l) => l.startsWith(`${world.search} `) && /, trial \d+, (training|validation)$/.test(l)).length, 4, `a legend with experiments: ${await legend()}`);
    await page.getByRole('group', { name: 'which curves' }).getByRole('button', { name: 'Validation' }).click();
    await until('the validations', () => page.evaluate(() => window.__charts?.loss?.series.length === 4));
    assert.match(page.url(), /lines=validation/);
    await page.getByRole('heading', { name: 'val_loss', exact: true }).first().waitFor();
    const parts = page.getByRole('navigation', { name: 'parts of this page' });
    await parts.getByRole('link', { name: 'Metrics' }).click();
    const loss = page.getByRole('row', { name: /^validation val_loss/ });
    await loss.waitFor();
    assert.equal(await loss.locator('td').count(), 3);
    await page.getByRole('button', { name: 'as baseline' }).last().click();
    await until('a new baseline', async () => (await page.getByRole('columnheader', { name: /baseline/ }).textContent()) !== null && /base=\d+/.test(page.url()));
    assert.equal(await loss.locator('.by').count(), 2, 'the others have their difference to the baseline');
    await parts.getByRole('link', { name: 'Configuration' }).click();
    await page.getByRole('row', { name: /^hyperparameters.width/ }).waitFor();
    assert.equal(await page.getByRole('row', { name: /^entrypoint/ }).count(), 0, 'what is the same is left out');
    await page.getByText('also what is the same').click();
    await page.getByRole('row', { name: /^entrypoint/ }).waitFor();
    await parts.getByRole('link', { name: 'Code' }).click();
    await page.getByText('1 file differs, 1 is the same').waitFor();
    await page.locator('.diff').filter({ hasText: 'look.ipynb' }).locator('.state', { hasText: 'removed' }).waitFor();
    await page.goto(`${url}/compare?experiments=${world.done},${world.failed}&view=code`);
    await page.locator('.lined .plus', { hasText: 'it broke on purpose' }).waitFor();
    await page.goto(`${url}/compare?trials=99999999`);
    await page.getByText('There is no trial 99999999').waitFor();
  },

  'the timeline says when each attempt waited, where it ran and why it ended': async (page) => {
    await signIn(page, `/experiments/${world.failed}/timeline`);
    await page.locator('.lane .span.running').first().waitFor();
    const attempts = page.locator('.attempts tbody tr');
    assert.equal(await attempts.count(), 1);
    assert.match(await attempts.first().textContent(), /failed.*exit 1/);
    const node = attempts.first().locator('a[href^="/nodes/"]');
    const name = await node.textContent();
    await node.click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await page.getByRole('table').first().locator('tbody tr').first().waitFor();
    await page.getByRole('region', { name: 'what runs here' }).getByRole('link', { name: new RegExp(`Experiment ${world.live}\\)$`) }).waitFor();
    await page.goto(`${url}/nodes/none-of-this-name`);
    await page.getByText('There is no node none-of-this-name.').waitFor();
    await page.goto(`${url}/experiments/${world.search}/timeline`);
    await until('a lane for each trial', async () => (await page.locator('.lane').count()) === 3);
  },

  'code is read, and nothing of it runs': async (page) => {
    await signIn(page, `/experiments/${world.done}/code`);
    await page.locator('.source .key', { hasText: 'from' }).first().waitFor();
    assert.match(await page.locator('.source').textContent(), /context.train.report_training_metrics/);
    await page.getByRole('navigation', { name: 'files' }).getByRole('link', { name: 'train.py' }).waitFor();
    await page.getByRole('navigation', { name: 'files' }).getByRole('link', { name: 'look.ipynb' }).click();
    await page.locator('.notebook .prompt', { hasText: '[3]' }).waitFor();
    await page.locator('.notebook .out', { hasText: '42' }).waitFor();
    await page.locator('.notebook').getByRole('heading', { name: 'A look' }).waitFor();
    assert.equal(await page.locator('.notebook script, .notebook iframe, .notebook b').count(), 0, 'a notebook is shown, and not run');
    assert.match(page.url(), /file=look\.ipynb/);
    await page.getByRole('button', { name: 'its text' }).click();
    await page.getByText('"cell_type"').first().waitFor();
    await page.goto(`${url}/experiments/${world.done}/code?file=no/such.py`);
    await page.getByText('There is no file no/such.py.').waitFor();
  },

  'the dashboard has what runs, what waits and why, and what failed since the last look': async (page) => {
    await signIn(page, '/dashboard');
    const part = (name) => page.getByRole('region', { name, exact: true });
    await part('failed').getByRole('link', { name: /ui-failed/ }).waitFor();
    await part('running').getByRole('link', { name: /ui-live/ }).waitFor();
    assert.equal(await part('running').getByRole('link', { name: /ui-waiting/ }).count(), 0, 'what waits is listed once');
    await part('waiting').getByText(/slots/).first().waitFor();
    await part('tasks').getByRole('link', { name: 'ui-notebook' }).waitFor();
    const kept = page.waitForResponse((r) => r.url().endsWith('/users/setting') && r.request().method() === 'POST');
    await page.getByRole('button', { name: 'All seen' }).click();
    await part('failed').getByText(/^Nothing, since/).waitFor();
    assert.equal((await kept).status(), 200);
    await page.reload();
    await part('failed').getByText(/^Nothing, since/).waitFor();
    await page.getByRole('button', { name: 'Everybody\'s' }).click();
    await until('the choice in the address', async () => page.url().includes('who=all'));
  },

  'notes are Markdown, and a trial without measurements says how to measure': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    const notes = '# Result\n\n**good** <img src=x onerror=alert(1)> [bad](javascript:alert(1)) [web](https://example.org)';
    assert.equal(await page.evaluate(async ([id, notes]) => (await fetch(`/api/v1/experiments/${id}`, { method: 'PATCH', body: JSON.stringify({ notes }) })).status, [world.done, notes]), 200);
    await page.reload();
    const card = page.getByRole('region', { name: 'notes' });
    await card.getByRole('heading', { name: 'Result' }).waitFor();
    assert.equal(await card.locator('img').count(), 0);
    assert.deepEqual(await card.locator('a').evaluateAll((list) => list.map((a) => a.getAttribute('href'))), ['https://example.org']);
    await page.goto(`${url}/experiments/${world.done}/trials`);
    await rows(page, 'trials').first().getByRole('link').first().click();
    await page.getByRole('navigation', { name: 'parts of this page' }).getByRole('link', { name: 'Profiler' }).click();
    await page.getByText('Nothing was measured.').waitFor();
  },

  'the log has its colours, its search and its end': async (page) => {
    await signIn(page, `/experiments/${world.done}/logs`);
    const lines = page.getByRole('log');
    await lines.getByText('the last line of all').waitFor();
    assert.ok((await page.locator('.line').count()) < 200, 'only what is on the screen exists');
    assert.ok((await page.locator('.ansi-green').count()) > 0, 'colours are kept');
    await page.getByLabel('search the log').fill('step 17 ');
    await until('one line', async () => (await page.locator('.line').count()) === 1);
    assert.equal(await page.locator('.found').first().textContent(), 'step 17 ');
    assert.match(page.url(), /q=step/);
    await page.getByLabel('search the log').fill('no such words');
    await page.getByText('No line matches.').waitFor();
    await page.getByRole('button', { name: 'Show every line' }).click();
    await lines.getByText('the last line of all').waitFor();
    await lines.evaluate((el) => (el.scrollTop = 0));
    await lines.getByText('<b>not bold</b>').waitFor();
    assert.equal(await page.locator('.line b').count(), 0, 'a log is text');
    await page.goto(`${url}/experiments/${world.live}/logs`);
    const shown = async () => page.locator('.line .no').last().textContent();
    const now = await until('a line', shown);
    await until('a newer line', async () => Number(await shown()) > Number(now));
    // Lines that come before the browser has said that somebody scrolled up do not pull them down.
    await until('more lines than fit', () => lines.evaluate((el) => el.scrollHeight > el.clientHeight + 200));
    await lines.evaluate((el) => { el.parentElement.addEventListener('scroll', (e) => e.stopPropagation(), { capture: true }); el.scrollTop = 0; });
    const count = async () => parseInt((await page.locator('.tools .num').textContent()).replace(/\D/g, ''), 10);
    const counted = await count();
    await until('more lines', async () => (await count()) > counted);
    assert.equal(await lines.evaluate((el) => el.scrollTop), 0, 'who reads stays where they are');
  },

  'an error says why, and what waits says for what': async (page) => {
    await signIn(page, `/experiments/${world.failed}`);
    await page.getByRole('alert').filter({ hasText: 'Ended with an error' }).waitFor();
    await page.getByLabel('the end of its log').filter({ hasText: 'RuntimeError: it broke on purpose' }).waitFor();
    await page.getByRole('link', { name: 'See the log' }).click();
    await page.getByText('RuntimeError: it broke on purpose').waitFor();
    await page.goto(`${url}/experiments/${world.waiting}`);
    await page.getByRole('status').filter({ hasText: 'slots' }).waitFor();
    await page.goto(`${url}/cluster?tab=queue`);
    const row = rows(page, 'queue').filter({ hasText: 'ui-waiting' });
    await row.waitFor();
    assert.match(await row.textContent(), /slots/);
  },

  'the configuration is the submitted one, and the complete one': async (page) => {
    await signIn(page, `/experiments/${world.done}/configuration`);
    await page.getByText('# a note of its author').waitFor();
    await page.getByRole('button', { name: 'Complete' }).click();
    await page.locator('.yaml').getByText('checkpoint_storage').waitFor();
    assert.match(page.url(), /config=complete/);
  },

  'the cluster shows who uses which slot': async (page) => {
    await signIn(page, '/cluster');
    const slot = page.getByRole('button', { name: new RegExp(`Experiment ${world.live}\\)$`) });
    await slot.first().click();
    await page.getByRole('link', { name: new RegExp(`Experiment ${world.live}\\)$`) }).first().click();
    await page.waitForURL(`**/experiments/${world.live}`);
  },

  'tasks are listed and looked at': async (page) => {
    await signIn(page, '/tasks?kind=commands&over=1');
    const row = rows(page, 'tasks').filter({ hasText: 'ui-command' });
    await row.getByRole('link').first().click();
    await page.getByRole('log').getByText('hello from a command').waitFor();
  },

  'a notebook opens, runs a cell, and cannot act as who looks at it': async (page) => {
    await signIn(page, '/tasks?kind=notebooks');
    const row = rows(page, 'tasks').filter({ hasText: 'ui-notebook' });
    await row.locator('.state', { hasText: 'running' }).waitFor();
    const [lab] = await Promise.all([page.context().waitForEvent('page'), row.getByRole('link', { name: 'Open' }).click()]);
    lab.setDefaultTimeout(patience);
    await lab.locator('.jp-LauncherCard[data-category="Notebook"]').first().click();
    const cell = lab.locator('.jp-Notebook .cm-content').first();
    await cell.click();
    await cell.pressSequentially('print(6 * 7, "over the proxy")');
    // JupyterLab, by itself too, drops a cell that is run in the first moments of a kernel
    // that it reaches over ipc: the cell gets no number then, and people run it again.
    await until('the cell has a number', async () => {
      await cell.click();
      await lab.keyboard.press('Shift+Enter');
      const prompt = lab.locator('.jp-Notebook .jp-InputPrompt', { hasText: /\d/ }).first();
      return prompt.waitFor({ timeout: 3000 }).then(() => true, () => false);
    });
    await lab.locator('.jp-OutputArea-output', { hasText: '42 over the proxy' }).waitFor();
    assert.notEqual(new URL(lab.url()).origin, url, 'a task has an origin of its own');
    const stolen = await lab.evaluate(async (master) => {
      const tries = [[`${master}/api/v1/me`, { credentials: 'include' }], [`${master}/api/v1/auth/logout`, { credentials: 'include', method: 'POST', mode: 'no-cors' }], ['/api/v1/me', {}]];
      return Promise.all(tries.map(([to, init]) => fetch(to, init).then(async (r) => (r.ok ? r.text() : ''), () => '')));
    }, url);
    assert.deepEqual(stolen, ['', '', ''], 'the page of a task reads nothing');
    await lab.close();
    await page.reload();
    await row.waitFor(); // still signed in: the page of a task could not sign anybody out
  },

  'an editor gets the address of a notebook': async (page) => {
    await signIn(page, '/tasks?kind=notebooks');
    await rows(page, 'tasks').filter({ hasText: 'ui-notebook' }).getByRole('link', { name: 'ui-notebook' }).click();
    await page.getByRole('button', { name: 'Use in an editor' }).click();
    const address = await page.locator('code.address').innerText();
    assert.match(address, /\/proxy\/[0-9a-f-]+\/\?token=det\./);
    assert.deepEqual(await violations(page), []);
    const [base, token] = address.split('?token=');
    const kernels = await fetch(`${base}api/kernels`, { headers: { Authorization: `token ${token}` } }); // without a cookie, as an editor
    assert.equal(kernels.status, 200);
    assert.ok(Array.isArray(await kernels.json()));
    for (const refused of [`${base}api/kernels`, `${base}api/kernels?token=${token}`]) assert.equal((await fetch(refused)).status, 401);
  },

  'a shell is used in a terminal of the page': async (page) => {
    await signIn(page, '/tasks?kind=shells');
    const { shell } = await post(page, '/api/v1/shells', { config: { description: 'ui-shell', resources: { slots: 0 } } });
    const fetched = [];
    page.on('request', (r) => fetched.push(new URL(r.url()).pathname));
    await page.goto(`${url}/tasks/${shell.id}`);
    await page.getByRole('link', { name: 'Terminal' }).waitFor();
    assert.ok(!fetched.some((f) => /Terminal/.test(f)), 'the terminal is fetched when it is opened');
    await page.getByRole('link', { name: 'Terminal' }).click();
    const terminal = page.getByRole('region', { name: 'terminal of ui-shell' });
    await terminal.getByText('connected').waitFor();
    assert.ok(fetched.some((f) => /Terminal/.test(f)));
    const text = () => terminal.locator('.xterm-rows').innerText();
    const type = async (line) => {
      await page.keyboard.type(line);
      await page.keyboard.press('Enter');
    };
    // The terminal has the focus; colours come also where the policy of the page allows no style of a text.
    await type("echo from-$((40+2)); printf '\\e[38;2;200;30;40mtruecolour\\e[0m \\e[32mgreen\\e[0m\\n'");
    await until('the output', async () => (await text()).includes('from-42'));
    const red = terminal.locator('.xterm-rows span', { hasText: /^truecolour$/ });
    assert.notEqual(await red.evaluate((el) => getComputedStyle(el).color), await terminal.locator('.xterm-rows').evaluate((el) => getComputedStyle(el).color), 'the colours of programs');
    // It has the size of the window, and follows it.
    await type('clear; stty size');
    const size = async () => (await text()).match(/^(\d+) (\d+)$/m)?.slice(1).map(Number);
    const [, wide] = await until('the size', size);
    await page.setViewportSize({ width: 900, height: 700 });
    await until('a smaller size', async () => {
      await type('clear; stty size');
      const now = await size();
      return now && now[1] < wide;
    });
    // A paste comes whole.
    await type("clear; stty -echo; echo re''ady; cat >pasted.txt; stty echo; cksum <pasted.txt | cut -d' ' -f2");
    await until('the program that reads', async () => (await text()).includes('ready')); // what comes before it, bash reads
    await page.evaluate(() => {
      const paste = new DataTransfer();
      paste.setData('text/plain', `${'x'.repeat(99)}\n`.repeat(1000));
      document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: paste, bubbles: true, cancelable: true }));
    });
    await page.keyboard.press('Control+d');
    await until('the pasted bytes', async () => (await text()).includes('100000'));
    // A flood of output does not stop the page, and Ctrl-C stops the flood.
    await type("clear; yes flo''od");
    await until('the flood', async () => (await text()).includes('flood'));
    await page.keyboard.press('Control+c');
    await type('clear; echo calm-$((1+1))');
    await until('calm', async () => (await text()).includes('calm-2'));
    // The keyboard leaves it; the log is one step away, and the terminal goes on meanwhile.
    await page.keyboard.press('Control+Shift+Period');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Start anew');
    assert.deepEqual(await violations(page), []);
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.deepEqual(await violations(page), []);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await page.getByRole('log').getByText('Server listening').waitFor();
    await page.getByRole('link', { name: 'Terminal' }).click();
    await until('what it had', async () => (await text()).includes('calm-2'));
    // A second tab is another terminal of the same shell.
    const other = await page.context().newPage();
    await other.goto(`${url}/tasks/${shell.id}?view=terminal`);
    await other.getByText('connected').waitFor();
    await other.keyboard.type('tty | tr / -; exit 3');
    await other.keyboard.press('Enter');
    await other.getByText('The shell has ended with exit status 3.').waitFor();
    await other.getByRole('button', { name: 'Open it again' }).click();
    await other.getByText('connected').waitFor();
    // What a login shell begins with, such as pyenv, may hold a lock of the account: it is not ended before it has begun.
    await other.keyboard.type('echo again-$((1+1))');
    await other.keyboard.press('Enter');
    await until('the second shell has begun', async () => (await other.locator('.xterm-rows').innerText()).includes('again-2'));
    await other.close();
    assert.equal(await terminal.getByText('connected').count(), 1, 'the first one goes on');
    // Somebody else may look at the task, and not enter it.
    const stranger = await page.context().browser().newContext();
    const their = await stranger.newPage();
    await their.goto(url);
    await their.getByLabel('Username').fill('admin');
    await their.getByRole('button', { name: 'Sign in' }).click();
    await their.waitForURL((u) => !u.pathname.startsWith('/login'));
    await post(their, '/api/v1/users', { user: { username: 'ui-sam', active: true } });
    await enter(their, 'ui-sam', `/tasks/${shell.id}?view=terminal`);
    await their.getByText('this shell belongs to determined; its owner and admins may open it').waitFor();
    await stranger.close();
    // The end of the task ends the terminal, with the reason.
    await post(page, `/api/v1/shells/${shell.id}/kill`);
    await terminal.getByText('ended', { exact: true }).waitFor();
  },

  'the theme is kept, and the curves follow it': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    await until('points', () => points(page, 'loss'));
    const look = () => page.evaluate(() => [getComputedStyle(document.body).backgroundColor, window.__charts?.loss?.series[1].stroke(window.__charts.loss, 1)]);
    const light = await look();
    await page.getByRole('button', { name: 'Dark theme' }).click();
    const dark = await until('dark curves', async () => {
      const now = await look();
      return now[0] !== light[0] && now[1] !== light[1] && now;
    });
    await page.reload();
    await until('dark after a reload', async () => (await look())[0] === dark[0]);
    await page.getByRole('button', { name: 'As the system theme' }).click();
    await until('light again', async () => (await look())[0] === light[0]);
  },

  'links of other clients lead to the same pages': async (page) => {
    await signIn(page, `/det/experiments/${world.done}/overview`);
    await page.getByRole('heading', { name: 'ui-done' }).waitFor();
    await page.goto(`${url}/experiments/99999999`);
    await page.getByText('There is no experiment 99999999.').waitFor();
    await page.goto(`${url}/no/such/page`);
    await page.getByText('There is no such page.').waitFor();
  },

  'a narrow screen hides nothing beside it': async (page) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await signIn(page);
    for (const path of ['/experiments', `/experiments/${world.done}`, '/tasks', '/models', '/cluster', `/experiments/${world.done}/logs`, `/experiments/${world.search}/hyperparameters`]) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const wide = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
      assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
    }
  },

  'axe finds nothing wrong on any page, in both themes': async (page) => {
    await signIn(page);
    await sound(page, pagesOf(), [['light', 1280], ['dark', 1280]]);
  },

  'everything that can be used has a name': async (page) => {
    await signIn(page);
    for (const path of ['/experiments', `/experiments/${world.done}`, `/experiments/${world.done}/trials`, `/experiments/${world.done}/checkpoints`, `/experiments/${world.done}/logs`, '/tasks', '/models', '/cluster']) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a, input, select')]
        .filter((el) => !(el.getAttribute('aria-label') || el.textContent.trim() || el.labels?.length || el.title)).map((el) => el.outerHTML));
      assert.deepEqual(nameless, [], path);
    }
  },

  'a checkpoint becomes a version of a model, and the model is looked after': async (page) => {
    await signIn(page, '/models');
    await page.getByText('No model yet.').waitFor();
    await page.goto(`${url}/experiments/${world.done}/checkpoints`);
    await rows(page, 'checkpoints').first().waitFor();
    const register = async (row, fill) => {
      await rows(page, 'checkpoints').nth(row).getByRole('button', { name: 'register' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: 'Register a checkpoint' }).waitFor();
      await fill(dialog);
      await dialog.getByRole('button', { name: 'Register' }).click();
      return dialog;
    };
    const refused = await register(0, (d) => d.getByLabel('Name of the new model').fill('42'));
    await refused.getByRole('alert').filter({ hasText: 'only numbers' }).waitFor();
    await refused.getByLabel('Name of the new model').fill("m [['b'], x]");
    await refused.getByLabel('Name of the version').fill('first');
    await refused.getByRole('button', { name: 'Register' }).click();
    await page.getByRole('status').filter({ hasText: "Registered as version 1 of m [['b'], x]" }).waitFor();
    await register(0, (d) => d.getByLabel('Comment').fill('a second one'));
    await page.getByRole('status').filter({ hasText: 'Registered as version 2' }).waitFor();

    await page.getByRole('link', { name: 'Models' }).click();
    await until('one model', async () => (await rows(page, 'models').count()) === 1);
    await page.getByLabel('search by name').fill('nothing like it');
    await page.getByText('No model matches.').waitFor();
    await page.getByLabel('search by name').fill("[['b']");
    await page.getByRole('grid', { name: 'models' }).getByRole('link', { name: "m [['b'], x]" }).click();
    await until('two versions', async () => (await rows(page, 'versions').count()) === 2);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Labels').fill('good, vision');
    await dialog.getByLabel('Notes').fill('# <b>How</b> it was made');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: '<b>How</b> it was made' }).waitFor(); // Markdown, and no HTML
    await page.getByRole('button', { name: 'edit version 2' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('second');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await rows(page, 'versions').filter({ hasText: 'second' }).waitFor();
    if (process.env.DETENT_PICTURES) await pictures(page, 'model');
    await page.getByRole('button', { name: 'delete version 1' }).click();
    await dialog.getByText('is not used again').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await until('one version', async () => (await rows(page, 'versions').count()) === 1);
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: 'archived' }).waitFor();
    await page.getByRole('button', { name: 'Unarchive' }).waitFor();
    const of = page.url();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/models');
    await page.goto(of);
    await page.getByText('There is no model').waitFor();
  },

  'a command starts from a form, which the master checks as one types': async (page) => {
    await signIn(page, '/tasks');
    await page.getByRole('link', { name: 'New task' }).click();
    await page.getByRole('link', { name: 'Command', exact: true }).click();
    const check = page.getByRole('region', { name: 'check by the master' });
    await check.getByText('Enter the program that the command runs.').waitFor();
    await page.getByLabel('Program').fill('echo started from a page');
    await page.getByLabel('Name').fill('ui-from-a-page');
    await page.getByLabel('Slots').fill('9999');
    await check.getByText('This cannot start').waitFor();
    await check.getByText('9999 slots').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled(), 'what cannot start has no button');
    await page.getByRole('button', { name: 'YAML' }).click();
    const yaml = page.getByLabel('configuration as YAML');
    assert.match(await yaml.inputValue(), /slots: 9999/);
    await yaml.fill('description: ui-from-a-page\nentrypoint: [/bin/sh, -c, echo started from a page]\nresources: {slots: 0');
    await check.getByText(/^Line 3:/).waitFor();
    await yaml.fill('description: ui-from-a-page\nentrypoint: [/bin/sh, -c, echo started from a page]\nresources: {slots: 0}\nno_such_field: 1');
    await check.getByText('no_such_field').waitFor();
    await yaml.fill('description: ui-from-a-page\nentrypoint: [/bin/sh, -c, echo started from a page]\nresources: {slots: 0}\n');
    await check.getByText('This can start').waitFor();
    await page.getByRole('button', { name: 'Form' }).click();
    assert.equal(await page.getByLabel('Program').inputValue(), 'echo started from a page');
    assert.equal(await page.getByLabel('Slots').inputValue(), '0');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/tasks/*');
    await page.getByRole('log').getByText('started from a page').waitFor();
  },

  'generic tasks are shown as trees, paused and ended with what is below': async (page) => {
    await signIn(page, '/tasks?kind=generics');
    const start = async (name, parentId) => (await post(page, '/api/v1/generic-tasks', { config: `description: ${name}\nentrypoint: [sleep, "600"]\nresources: {slots: 0}\n`, contextDirectory: [], ...(parentId ? { parentId } : {}) })).taskId;
    const root = await start('ui-root');
    const branch = await start('ui-branch', root);
    await start('ui-leaf', branch);
    await until('the tree in its order', async () => (await rows(page, 'tasks').allTextContents()).map((t) => t.match(/ui-(root|branch|leaf)/)?.[1]).join() === 'root,branch,leaf');
    await rows(page, 'tasks').filter({ hasText: 'ui-branch' }).getByRole('link').first().click();
    const tree = page.getByRole('region', { name: 'its tree of tasks' });
    await tree.getByRole('link', { name: 'ui-leaf' }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await until('it and what is below are paused, and the root is not', async () => /ui-root.*running.*ui-branch.*paused.*ui-leaf.*paused/i.test(await tree.textContent()));
    await page.getByRole('button', { name: 'Unpause' }).click();
    await until('they run again', async () => !/paused/.test(await tree.textContent()));
    await page.getByRole('button', { name: 'End the tree' }).click();
    await page.getByRole('dialog').getByText('of its whole tree').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'End the tree' }).click();
    await until('all have ended', async () => !/running|queued|starting/.test(await tree.textContent()));
  },

  'a task takes files along': async (page) => {
    await signIn(page, '/launch/commands?run=cat+folder%2Fwords.txt&slots=0&name=ui-with-a-file');
    await page.getByText('This can start').waitFor();
    await page.locator('input[type=file]').first().setInputFiles({ name: 'words.txt', mimeType: 'text/plain', buffer: Buffer.from('words of a file\n') });
    await page.getByText('1 file,').waitFor();
    await page.getByLabel('Program').fill('cat words.txt');
    await page.getByText('This can start').waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/tasks/*');
    await page.getByRole('log').getByText('words of a file').waitFor();
  },

  'an experiment is forked, edited and moved': async (page) => {
    await signIn(page, `/experiments/${world.done}`);
    await page.getByRole('link', { name: 'Fork' }).click();
    const text = page.getByLabel('configuration', { exact: true });
    assert.match(await text.inputValue(), /# a note of its author/, 'the text is the submitted one');
    await text.fill((await text.inputValue()).replace('max_restarts: 0', 'max_restarts: -3'));
    await page.getByText('This cannot start').waitFor();
    await page.getByRole('region', { name: 'check by the master' }).getByText('max_restarts').waitFor();
    await page.getByRole('button', { name: 'Undo all changes' }).click();
    await text.fill((await text.inputValue()).replace('name: ui-done', 'name: ui-forked'));
    await page.getByText('This can start').waitFor();
    await page.getByRole('button', { name: 'Submit' }).click();
    await page.waitForURL((u) => /experiments\/\d+$/.test(u.pathname) && !u.pathname.endsWith(`/${world.done}`));
    await page.getByRole('heading', { name: 'ui-forked' }).waitFor();
    await page.getByLabel('facts').getByRole('link', { name: String(world.done) }).waitFor();
    const id = Number(new URL(page.url()).pathname.split('/').pop());
    await page.getByRole('button', { name: 'more actions' }).click();
    await page.getByRole('button', { name: 'Edit…' }).click();
    await page.getByRole('dialog').getByLabel('Labels').fill('from-a-page, second');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.tag', { hasText: 'from-a-page' }).first().waitFor();
    const { workspace } = await post(page, '/api/v1/workspaces', { name: 'ui-moved-to' });
    await post(page, `/api/v1/workspaces/${workspace.id}/unpin`, {});
    const { project } = await post(page, `/api/v1/workspaces/${workspace.id}/projects`, { name: 'ui-moved-to', workspaceId: workspace.id });
    await page.reload();
    await page.getByRole('button', { name: 'more actions' }).click();
    await page.getByRole('button', { name: 'Move…' }).click();
    await page.getByRole('dialog').getByLabel('To project').selectOption(String(project.id));
    await page.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('status').filter({ hasText: `Experiment ${id} moved` }).waitFor();
    await page.getByText('ui-moved-to').first().waitFor();
  },

  'a trial is trained again with its hyperparameters': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials`);
    await rows(page, 'trials').first().click();
    await page.getByRole('link', { name: 'Search around it' }).click();
    const text = page.getByLabel('configuration', { exact: true });
    await until('a search', async () => /max_trials: 10/.test(await text.inputValue()));
    await page.getByRole('button', { name: 'One trial with its hyperparameters' }).click();
    await until('one trial', async () => /name: single/.test(await text.inputValue()));
    assert.match(await text.inputValue(), /width: \d+\n/);
    await page.getByText('This can start').waitFor();
  },

  'a new trial begins with a checkpoint': async (page) => {
    await signIn(page, `/experiments/${world.search}/trials`);
    await rows(page, 'trials').first().click();
    await page.getByRole('link', { name: 'Continue from here' }).click();
    const trial = new URL(page.url()).pathname.split('/')[2];
    const text = page.getByLabel('configuration', { exact: true });
    await until('the trial', async () => new RegExp(`source_trial_id: ${trial}\\b`).test(await text.inputValue()));
    await page.getByText('This can start').waitFor();
    await page.goBack();
    await page.getByRole('navigation', { name: 'parts of this page' }).getByRole('link', { name: /^Checkpoints/ }).click();
    const row = rows(page, 'checkpoints').first();
    const uuid = await row.locator('code').first().textContent();
    await row.getByRole('link', { name: 'continue' }).click();
    await until('the checkpoint', async () => (await text.inputValue()).includes(`source_checkpoint_uuid: ${uuid}`) && !(await text.inputValue()).includes('source_trial_id'));
    await page.getByText(`begins with checkpoint ${uuid}`).waitFor();
    await page.getByText('This can start').waitFor();
  },

  'a text is found in the logs of all tasks': async (page) => {
    await signIn(page, '/experiments');
    await page.getByRole('button', { name: 'search everything' }).click();
    await page.getByRole('combobox', { name: 'search everything' }).fill('the LAST line of');
    await page.getByRole('option', { name: 'Logs with “the LAST line of”' }).click();
    await page.waitForURL((u) => u.pathname === '/logs' && u.searchParams.get('q') === 'the LAST line of');
    const found = page.getByRole('region', { name: `of experiment ${world.done}` });
    await found.locator('.found').getByText('the last line of', { exact: true }).waitFor();
    await page.getByText('All logs that you may see were searched.').waitFor();
    await found.getByRole('link', { name: /^Trial/ }).click();
    await page.waitForURL((u) => /^\/trials\/\d+\/logs$/.test(u.pathname));
    await page.locator('.line .found').first().waitFor();
    await page.goBack();
    await page.getByLabel('text to search for in all logs').fill('no task says <this>');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('No line has this text.').waitFor();
    await page.getByLabel('text to search for in all logs').fill('');
    assert.ok(await page.getByRole('button', { name: 'Search', exact: true }).isDisabled());
    await sound(page, ['/logs', '/logs?q=the+last+line']);
  },

  'many are acted on at once, and who is left out is said before': async (page) => {
    await signIn(page, '/experiments?sort=id');
    await rows(page, 'experiments').filter({ hasText: 'ui-done' }).first().getByRole('checkbox').check();
    await rows(page, 'experiments').filter({ hasText: 'ui-failed' }).first().getByRole('checkbox').check();
    await rows(page, 'experiments').filter({ hasText: 'ui-live' }).first().getByRole('checkbox').check();
    const bar = page.getByRole('toolbar', { name: 'actions on the selection' });
    await bar.getByRole('button', { name: /^Archive/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`Left out: ${world.live} is running, and has to end first.`).waitFor();
    await dialog.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: '2 experiments archived' }).waitFor();
    await page.goto(`${url}/experiments?archived=only`);
    await until('two of them', async () => (await rows(page, 'experiments').count()) === 2);
    await page.getByLabel('select all that are loaded').check();
    await bar.getByRole('button', { name: 'Unarchive' }).click();
    await page.getByRole('status').filter({ hasText: '2 experiments unarchived' }).waitFor();
  },

  'jobs change their places in the queue': async (page) => {
    await signIn(page, '/cluster?tab=queue');
    const ids = [];
    for (const name of ['ui-first', 'ui-second']) {
      const made = await post(page, '/api/v1/experiments', { parentId: world.waiting, activate: true, config: `name: ${name}\nentrypoint: python3 train.py\nresources: {slots_per_trial: 4}\nsearcher: {name: single, metric: val_loss, max_length: {batches: 1}}\n` });
      ids.push(made.experiment.id);
    }
    try {
      const order = async () => (await rows(page, 'queue').allTextContents()).flatMap((t) => t.match(/ui-(waiting|first|second)/)?.[1] ?? []).join();
      await until('all three', async () => (await order()) === 'waiting,first,second');
      await rows(page, 'queue').filter({ hasText: 'ui-second' }).getByRole('checkbox').check();
      await page.getByRole('button', { name: 'To the front' }).click();
      await until('the second is first', async () => (await order()) === 'second,waiting,first');
      await page.getByRole('button', { name: 'Down' }).click();
      await until('it is one further', async () => (await order()) === 'waiting,second,first');
      await page.getByRole('button', { name: 'Before…' }).click();
      await page.getByRole('dialog').getByLabel('Before').selectOption({ label: (await page.getByRole('dialog').locator('option', { hasText: 'ui-waiting' }).textContent()) });
      await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click();
      await until('it is before', async () => (await order()) === 'second,waiting,first');
      await page.getByRole('button', { name: 'Priority, weight, pool…' }).click();
      await page.getByRole('dialog').getByLabel('Priority').fill('7');
      await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click();
      await rows(page, 'queue').filter({ hasText: 'ui-second' }).getByText('7', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Clear' }).click();
      await rows(page, 'queue').filter({ hasText: 'ui-live' }).getByRole('checkbox').check();
      await page.getByText('Cannot move: already running.').waitFor();
    } finally {
      for (const id of ids) await post(page, `/api/v1/experiments/${id}/kill`);
    }
  },

  'everything is found from one place, and done from there': async (page) => {
    await signIn(page);
    await rows(page, 'experiments').first().waitFor();
    await page.keyboard.press('Control+k');
    const find = page.getByRole('combobox', { name: 'search everything' });
    await find.fill('ui-sear');
    await page.getByRole('option', { name: `${world.search} ui-search` }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/experiments/${world.search}`);
    await page.getByRole('button', { name: 'search everything' }).click();
    await find.fill('run a comm');
    await until('it is chosen', async () => /Run a command/.test((await page.locator('.found-item[aria-selected=true]').textContent()) ?? ''));
    await page.keyboard.press('Enter');
    await page.waitForURL('**/launch/commands');
    await page.keyboard.press('Control+k');
    await find.fill(String(world.done));
    await page.getByRole('option', { name: `${world.done} ui-done` }).click();
    await page.waitForURL(`**/experiments/${world.done}`);
    await page.keyboard.press('Control+k');
    await find.fill('hp.lr < 0.9');
    await page.getByRole('option', { name: 'Experiments where hp.lr < 0.9' }).click();
    await until('the filter', async () => (await page.getByLabel('filter', { exact: true }).inputValue()) === 'hp.lr < 0.9');
    // A hyperparameter by its name, or with a value, finds the experiments that have it.
    await page.keyboard.press('Control+k');
    await find.fill('width');
    await page.getByRole('option', { name: 'Experiments where hp.width is not empty' }).waitFor();
    await page.getByRole('option', { name: new RegExp(`^${world.search} ui-search`) }).waitFor();
    await find.fill('lr = 0.5');
    await page.getByRole('option', { name: new RegExp(`^${world.done} ui-done`) }).click();
    await page.waitForURL(`**/experiments/${world.done}`);
    await page.keyboard.press('Control+k');
    await find.waitFor();
    // The next Ctrl-K opens it anew, also when it comes before the browser says that the first one is closed.
    await page.evaluate(async () => {
      document.querySelector('dialog.palette .found-item').click();
      await new Promise((rendered) => { queueMicrotask(() => queueMicrotask(() => queueMicrotask(rendered))); });
      document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }));
    });
    await find.waitFor();
    await page.keyboard.press('Escape');
    await find.waitFor({ state: 'detached' });
  },

  'a filter is composed of rows, and the line shows the same': async (page) => {
    await signIn(page);
    await page.getByRole('button', { name: 'Compose' }).click();
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await page.getByLabel('column of filter 1').fill('name');
    await page.getByLabel('comparison of filter 1').selectOption('~');
    await page.getByLabel('value of filter 1').fill('ui-d');
    const line = page.getByLabel('filter', { exact: true });
    await until('the line', async () => (await line.inputValue()) === 'name ~ ui-d');
    await until('one row', async () => (await rows(page, 'experiments').count()) >= 1);
    await line.fill('name ~ ui-d and validation.val_loss < 0.5');
    await page.getByLabel('column of filter 2').waitFor();
    assert.equal(await page.getByLabel('column of filter 2').inputValue(), 'validation.val_loss');
    await page.getByRole('button', { name: 'remove filter 1' }).click();
    await until('the line is shorter', async () => (await line.inputValue()) === 'validation.val_loss < 0.5');
    await line.fill('not name = x');
    await page.getByText('cannot be shown as rows').waitFor();
  },

  'a view and its columns are kept for the person, in another browser too': async (page) => {
    await signIn(page, '/experiments?name=ui-done&sort=name');
    await rows(page, 'experiments').first().waitFor();
    await page.getByRole('button', { name: 'choose columns' }).click();
    await page.getByLabel('Searcher', { exact: true }).check();
    await page.getByRole('button', { name: 'Searcher: one to the left' }).click();
    await page.getByRole('button', { name: 'Name: wider' }).click();
    await until('the address has them', async () => /searcher/.test(page.url()) && /name%3A\d+|name:\d+/.test(page.url()));
    await page.getByRole('button', { name: 'saved views' }).click();
    const stored = page.waitForResponse((r) => r.url().includes('/users/setting') && r.request().method() === 'POST' && /view\./.test(r.request().postData() ?? ''));
    await page.getByRole('button', { name: 'Save this view…' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('what is done');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    assert.ok((await stored).ok(), 'the server keeps it');
    const other = await (await page.context().browser().newContext({ viewport: { width: 1280, height: 800 } })).newPage();
    try {
      await signIn(other);
      const head = other.getByRole('grid', { name: 'experiments' }).locator('.th');
      await until('the columns', async () => /Searcher.*Duration/.test(await head.textContent()));
      await other.getByRole('button', { name: 'saved views' }).click();
      await other.getByRole('link', { name: 'what is done' }).click();
      await until('the filter of the view', async () => (await other.getByLabel('search by name').inputValue()) === 'ui-done');
      await other.getByRole('button', { name: 'saved views' }).click();
      await other.getByRole('button', { name: 'delete view what is done' }).click();
      await other.getByRole('link', { name: 'what is done' }).waitFor({ state: 'detached' });
      await other.keyboard.press('Escape');
      await other.getByRole('button', { name: 'choose columns' }).click();
      const forgotten = other.waitForResponse((r) => r.url().includes('/users/setting') && r.request().method() === 'POST');
      await other.getByRole('button', { name: 'Default columns' }).click();
      await until('the default columns', async () => !/Searcher/.test(await head.textContent()));
      await forgotten;
    } finally {
      await other.context().close();
    }
  },

  'all matches become a file': async (page) => {
    await signIn(page, '/experiments?name=ui-');
    await rows(page, 'experiments').first().waitFor();
    const file = async (as) => {
      await page.getByRole('button', { name: 'export all matches' }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: `All matches as ${as}` }).click()]);
      return readFileSync(await download.path(), 'utf8');
    };
    const table = (await file('CSV')).trim().split('\r\n');
    assert.match(table[0], /^id,name,description,state,/);
    assert.ok(table.some((l) => l.startsWith(`${world.done},ui-done,`)), table.join(' | '));
    const list = JSON.parse(await file('JSON'));
    assert.equal(list.length, table.length - 1);
    assert.ok(list.every((e) => e.name.startsWith('ui-')));
  },

  'workspaces, projects and notes are looked after': async (page) => {
    await signIn(page, '/workspaces');
    const dialog = page.getByRole('dialog');
    const name = `ui-workspace with a name that is so long that no column can hold it ${'x'.repeat(8)}`;
    await page.getByRole('button', { name: 'New workspace' }).click();
    await dialog.getByLabel('Name').fill(name);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL('**/workspaces/*');
    await page.getByRole('button', { name: 'New project' }).click();
    await dialog.getByLabel('Name').fill('ui-project');
    await dialog.getByLabel('Description').fill('of a page');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL('**/projects/*');
    await page.getByText('No experiments yet.').waitFor();
    await page.getByRole('link', { name: 'Notes' }).click();
    await page.getByRole('button', { name: 'Write a note' }).click();
    await page.getByLabel('text of note 1').fill('<b>what</b> we know');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.note').getByText('<b>what</b> we know').waitFor();
    await page.getByRole('button', { name: 'more actions' }).click();
    await page.getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('status').filter({ hasText: 'archived' }).waitFor();
    await page.getByRole('link', { name: new RegExp(name) }).click();
    await page.getByRole('button', { name: 'Unpin' }).click(); // who creates a workspace pins it
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('button', { name: 'Unpin' }).waitFor();
    await page.getByRole('navigation', { name: 'pages' }).getByRole('link', { name: 'Workspaces' }).click();
    await until('it is pinned, so it comes first', async () => /ui-workspace/.test((await rows(page, 'workspaces').first().textContent()) ?? ''));
    await rows(page, 'workspaces').first().getByRole('link').click();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/workspaces');
    await page.goto(`${url}/workspaces/99999`);
    await page.getByText('There is no workspace 99999.').waitFor();
  },

  'somebody sees which secrets a task can mount, and how': async (page) => {
    await signIn(page, '/manage/secrets');
    await page.getByText('No secret is offered to you.').waitFor();
    const offered = [
      { name: 'tracker', keys: ['token', 'account'], workspaces: ['vision', 'speech'], everywhere: false },
      { name: 'own', keys: [], workspaces: [], everywhere: true },
    ];
    await page.route('**/api/v1/detent/secrets*', (route) => route.fulfill({ json: { secrets: offered, pagination: null } }));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.reload();
    const row = rows(page, 'secrets').filter({ hasText: 'tracker' });
    assert.match(await row.innerText(), /token, account\s*vision, speech/);
    await row.getByRole('button', { name: 'copy the section that mounts tracker' }).click();
    await page.getByRole('status').filter({ hasText: 'copied' }).waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /secrets:[^]*name: tracker[^]*env: TRACKER_TOKEN/);
    await sound(page, ['/manage/secrets']);
  },

  'administrators look after users, and others do not': async (page) => {
    const enter = async (name, password = '') => {
      await page.goto(`${url}/manage/users`);
      await page.getByLabel('Username').fill(name);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL((u) => !u.pathname.startsWith('/login'));
    };
    await enter('admin');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New user' }).click();
    await dialog.getByLabel('Username').fill('ui-ada');
    await dialog.getByLabel('Name to show').fill('Ada of the pages');
    await dialog.getByLabel('Password').fill('a first passw0rd of hers');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const row = rows(page, 'users').filter({ hasText: 'ui-ada' });
    await row.waitFor();
    await page.getByRole('button', { name: 'set the password of ui-ada' }).click();
    await dialog.getByLabel('New password', { exact: true }).fill('a second passw0rd of hers');
    await dialog.getByLabel('New password, once more').fill('another one');
    await dialog.getByRole('button', { name: 'Set the password' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'differ' }).waitFor();
    await dialog.getByLabel('New password, once more').fill('a second passw0rd of hers');
    await dialog.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('status').filter({ hasText: 'password of ui-ada is set' }).waitFor();
    await page.getByRole('button', { name: 'New user' }).click();
    await dialog.getByLabel('Username').fill('ui-nightly');
    await dialog.getByLabel('is a service account').check();
    assert.equal(await dialog.getByLabel('Password').count() + (await dialog.getByLabel('is an administrator').count()), 0, 'a program has no password, and is no administrator');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('status').filter({ hasText: 'Service account ui-nightly created' }).waitFor();
    await page.getByLabel('people or programs').selectOption('services');
    await until('only programs', async () => (await rows(page, 'users').count()) === 1);
    assert.match(await rows(page, 'users').innerText(), /ui-nightly\s*service account/);
    assert.equal(await page.getByRole('button', { name: 'set the password of ui-nightly' }).count(), 0);
    await page.getByLabel('people or programs').selectOption('people');
    await until('only people', async () => (await rows(page, 'users').filter({ hasText: 'ui-nightly' }).count()) === 0);
    await page.getByRole('link', { name: 'Access tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel('It acts as').selectOption({ label: 'ui-nightly' });
    await dialog.getByRole('button', { name: 'Create' }).click();
    const nightly = await page.locator('.token').textContent();
    assert.equal(await page.evaluate(async (t) => (await (await fetch('/api/v1/me', { credentials: 'omit', headers: { Authorization: `Bearer ${t}` } })).json()).user.username, nightly), 'ui-nightly', 'its token is its own');
    await page.getByRole('link', { name: 'Message' }).click();
    await page.getByLabel('Message', { exact: true }).fill('words to all');
    await page.getByRole('button', { name: 'Show to everybody' }).click();
    await page.getByText('until it is removed: words to all').waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('There is no message.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();

    await enter('ui-ada', 'a second passw0rd of hers');
    await rows(page, 'users').filter({ hasText: 'ui-ada' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'New user' }).count(), 0, 'no rights, no button');
    await page.goto(`${url}/manage/message`);
    await page.getByText('Only administrators can do this.').waitFor();
    await page.getByRole('link', { name: 'Ada of the pages' }).click();
    await page.getByLabel('name to show').fill('Countess');
    await page.getByRole('button', { name: 'Save the name' }).click();
    await page.getByRole('link', { name: 'Countess' }).waitFor();
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel('What it is for').fill('a nightly program');
    await dialog.getByLabel('it may only read').check();
    await dialog.getByRole('button', { name: 'Create' }).click();
    const token = await page.locator('.token').textContent();
    const says = (bearer) => page.evaluate(async (t) => (await fetch('/api/v1/me', { credentials: 'omit', headers: { Authorization: `Bearer ${t}` } })).status, bearer);
    assert.equal(await says(token), 200, 'the token works');
    await page.getByRole('button', { name: /^revoke token/ }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No access token.').waitFor();
    assert.equal(await says(token), 401, 'and no longer');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();

    await enter('admin');
    await rows(page, 'users').filter({ hasText: 'ui-ada' }).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await dialog.getByRole('button', { name: 'Deactivate' }).click();
    await rows(page, 'users').filter({ hasText: 'ui-ada' }).waitFor({ state: 'detached' });
    await page.getByLabel('deactivated too').check();
    await rows(page, 'users').filter({ hasText: 'ui-ada' }).getByText('deactivated').waitFor();
  },

  'templates, policies and webhooks are made, tried and deleted': async (page) => {
    await page.goto(`${url}/manage/templates`);
    await page.getByLabel('Username').fill('admin');
    await page.getByRole('button', { name: 'Sign in' }).click();
    const dialog = page.getByRole('dialog');
    await page.getByRole('link', { name: 'New template' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('ui-template');
    await page.getByLabel('configuration of the template').fill('# where it works\nwork_dir: /of-the-template\nno_such_field: 1\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'no_such_field' }).waitFor();
    await page.getByLabel('configuration of the template').fill('# where it works\nwork_dir: /of-the-template\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await rows(page, 'templates').filter({ hasText: 'ui-template' }).waitFor();
    await page.goto(`${url}/manage/templates?edit=ui-template`);
    assert.match(await page.getByLabel('configuration of the template').inputValue(), /# where it works/, 'its author\'s text is kept');
    await page.goto(`${url}/launch/commands?template=ui-template&run=true`);
    await page.getByText('This can start').waitFor();
    await page.getByText('With all defaults').click();
    await page.getByLabel('configuration with all defaults').getByText('/of-the-template').waitFor();
    await page.goto(`${url}/manage/templates`);
    await page.getByRole('button', { name: 'delete ui-template' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await rows(page, 'templates').filter({ hasText: 'ui-template' }).waitFor({ state: 'detached' });

    await page.goto(`${url}/manage/policies`);
    const tasks = page.getByRole('form', { name: /^Notebooks/ });
    await tasks.getByRole('button', { name: 'Write one' }).click();
    await tasks.getByLabel(/^policies for/).fill('constraints: {resources: {no_such_limit: 1}}');
    await tasks.getByRole('button', { name: 'Save' }).click();
    await tasks.getByRole('alert').filter({ hasText: 'no_such_limit' }).waitFor();
    await tasks.getByLabel(/^policies for/).fill('invariant_config: {description: what a policy says}');
    await tasks.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'The policies are saved' }).waitFor();
    await page.goto(`${url}/launch/commands?run=true&slots=0`);
    await page.getByText('This can start').waitFor();
    await page.getByText('With all defaults').click();
    await page.getByLabel('configuration with all defaults').getByText('what a policy says').waitFor();
    await page.goto(`${url}/manage/policies`);
    await tasks.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await tasks.getByText('No policy.').waitFor();

    await page.goto(`${url}/manage/webhooks`);
    await page.getByRole('button', { name: 'New webhook' }).click();
    await dialog.getByLabel('Address').fill('https://hooks.invalid/x');
    await dialog.getByLabel('Name', { exact: true }).fill('ui-hook');
    await dialog.getByLabel('When a metric passes').fill('accuracy');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'a limit' }).waitFor();
    assert.equal(await dialog.getByLabel('Name', { exact: true }).inputValue(), 'ui-hook', 'what was written stays');
    await dialog.getByLabel('When a metric passes').fill('accuracy > 0.9');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL('**/manage/webhooks/*');
    await page.getByText('validation/accuracy > 0.9').waitFor();
    await page.getByText('No event yet.').waitFor();
    await page.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('alert').filter({ hasText: 'failed' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/manage/webhooks');
  },

  'the audit trail is filtered, its entries have addresses, and it becomes a file': async (page) => {
    await signIn(page, '/manage/audit');
    await page.getByText('Only administrators can do this.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Audit trail' }).count(), 0, 'no rights, no tab');
    await enter(page, 'admin', '/manage/audit');
    const trail = page.getByRole('grid', { name: 'audit trail' });
    await rows(page, 'audit trail').first().waitFor();
    // More entries than the master sends at once: older ones come when somebody scrolls to them.
    for (let i = 0; i < 120; i += 20) await Promise.all(Array.from({ length: 20 }, (_, j) => post(page, `/api/v1/experiments/${world.failed}`, { id: world.failed, description: `change ${i + j}` }, 'PATCH')));
    await page.evaluate(async () => { await fetch('/api/v1/experiments/99999999/kill', { method: 'POST' }); });
    await page.getByLabel('kind of object').selectOption('experiment');
    await until('entries about experiments alone', async () => (await rows(page, 'audit trail').count()) > 5 && (await rows(page, 'audit trail').allTextContents()).every((t) => /experiment/.test(t)));
    const known = async () => Number(await trail.getAttribute('aria-rowcount')) - 1;
    const first = await known();
    await until('older entries', async () => {
      await trail.evaluate((el) => { el.scrollTop = el.scrollHeight; });
      return (await known()) > first + 10;
    });
    await page.getByLabel('only what failed').check();
    const failed = rows(page, 'audit trail').filter({ hasText: 'experiment 99999999' });
    await failed.getByText('not found', { exact: true }).waitFor();
    await trail.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    const entry = page.getByRole('dialog');
    await entry.getByText('/experiments/:id/kill').waitFor();
    assert.deepEqual(await violations(page), []);
    assert.match(page.url(), /entry=\d+/);
    await page.reload();
    await entry.getByText(/^session \d+$/).waitFor();
    await page.keyboard.press('Escape');
    await until('the address without it', async () => !page.url().includes('entry='));
    await page.getByLabel('only what failed').uncheck();
    await page.getByLabel('Id or name of the object').fill(String(world.failed));
    await page.getByLabel('Id or name of the object').press('Enter');
    await until('entries about this one', async () => (await rows(page, 'audit trail').count()) > 5 && (await rows(page, 'audit trail').allTextContents()).every((t) => t.includes(`experiment ${world.failed}`)));
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export as JSON lines' }).click()]);
    const entries = readFileSync(await file.path(), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
    assert.ok(entries.length > 120, `${entries.length} entries, more than one answer has`);
    assert.ok(entries.every((e) => e.kind === 'experiment' && e.object === String(world.failed)));
    assert.equal(new Set(entries.map((e) => e.id)).size, entries.length);
    await page.getByLabel('Id or name of the object').fill('no such object with a name that is far too long for any field'.repeat(3));
    await page.getByLabel('Id or name of the object').press('Enter');
    await page.getByText('No entry matches.').waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await rows(page, 'audit trail').first().waitFor();
    await page.route('**/api/v1/detent/audit*', (r) => r.fulfill({ status: 500, body: '{"message": "it is broken"}' }));
    await page.reload();
    await page.getByRole('alert').filter({ hasText: 'it is broken' }).waitFor();
    await page.unroute('**/api/v1/detent/audit*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await rows(page, 'audit trail').first().waitFor();
    await sound(page, ['/manage/audit', '/manage/audit?object=nothing-has-this-name']);
  },

  'quotas are set, seen to be used, and deleted': async (page) => {
    await signIn(page, '/manage/quotas');
    await page.getByText('There is no quota.').waitFor();
    await page.getByRole('button', { name: 'New quota' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('User', { exact: true }).fill('determined');
    await dialog.getByLabel('Hard bound').fill('4');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'only administrators of the cluster may change the quota' }).waitFor();
    await enter(page, 'admin', '/manage/quotas');
    const { workspace } = await post(page, '/api/v1/workspaces', { name: `ui-bounded ${'with a long name '.repeat(4)}`.trim() });
    await page.getByRole('button', { name: 'New quota' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    assert.ok(await dialog.getByLabel('User', { exact: true }).evaluate((el) => !el.validity.valid), 'all workspaces, and no user: whom does it bound?');
    await dialog.getByLabel('User', { exact: true }).fill('nobody-of-this-name');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'There is no user nobody-of-this-name' }).waitFor();
    await dialog.getByLabel('User', { exact: true }).fill('determined');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Enter a bound' }).waitFor();
    await dialog.getByLabel('Soft bound').fill('1');
    await dialog.getByLabel('Hard bound').fill('many');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'Hard bound: enter a whole number' }).waitFor();
    await dialog.getByLabel('Hard bound').fill('1000');
    assert.deepEqual(await violations(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    const mine = rows(page, 'quotas').filter({ hasText: 'determined in all workspaces' });
    await mine.filter({ hasText: '1,000' }).waitFor();
    await page.getByRole('button', { name: 'New quota' }).click();
    await dialog.locator('select[name=workspace]').selectOption({ label: workspace.name });
    await dialog.locator('select[name=measure]').selectOption({ label: 'slot-hours of each month' });
    await dialog.getByLabel('Hard bound').fill('0');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const theirs = rows(page, 'quotas').filter({ hasText: 'ui-bounded' });
    await theirs.getByText('full').waitFor();
    // Slots that are held are counted; the live experiment holds one.
    await until('what is held', async () => {
      await page.reload();
      await mine.waitFor();
      return Number(await mine.getByRole('gridcell').nth(3).innerText()) >= 1;
    });
    await mine.getByRole('button', { name: /^change/ }).click();
    await dialog.getByLabel('Hard bound').fill('900');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await mine.filter({ hasText: '900' }).waitFor();
    await sound(page, ['/manage/quotas', '/manage/quotas?name=nothing-has-this-name']);
    await page.goto(`${url}/manage/quotas?name=ui-bounded`);
    await theirs.waitFor();
    assert.equal(await mine.count(), 0);
    await page.goto(`${url}/manage/quotas`);
    for (const row of [theirs, mine]) {
      await row.getByRole('button', { name: /^delete/ }).click();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await row.waitFor({ state: 'detached' });
    }
    await page.getByText('There is no quota.').waitFor();
  },

  'the front of a search with two metrics is drawn and listed': async (page) => {
    await signIn(page, `/experiments/${world.front}`);
    const card = page.getByRole('region', { name: 'front' });
    const chart = card.getByRole('img', { name: /^latency and val_loss of 3 results, 2 of them on the front/ });
    await chart.waitFor();
    assert.equal(await chart.locator('circle').count(), 3);
    assert.equal(await chart.locator('circle.on').count(), 2, 'the widest is too slow');
    const list = card.getByRole('group', { name: 'results on the front' });
    assert.deepEqual(await list.locator('tbody tr').evaluateAll((l) => l.map((tr) => [...tr.cells].slice(1).map((td) => td.textContent)).sort()), [['10', '0.25', '4'], ['10', '1', '1']]);
    assert.match(await list.getByRole('columnheader', { name: 'latency' }).getAttribute('title'), /smaller is better; at most 5/);
    await sound(page, [`/experiments/${world.front}`]);
    await page.goto(`${url}/experiments/${world.front}`);
    const trial = list.getByRole('link').first();
    const id = await trial.innerText();
    await trial.click();
    await page.waitForURL(`**/trials/${id}`);
  },

  'slots are reserved and given back, and a node is out of use': async (page) => {
    await signIn(page, '/manage/reservations');
    await page.getByText('Nothing is reserved.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New reservation' }).count(), 0, 'who may not reserve is offered nothing');
    await enter(page, 'admin', '/manage/reservations');
    const dialog = page.getByRole('dialog');
    const morning = (days) => `${new Date(Date.now() + days * 864e5).toISOString().slice(0, 10)}T08:00`;
    const fill = async (fields) => {
      for (const [name, value] of Object.entries(fields)) await dialog.getByLabel(name, { exact: true }).fill(value);
    };
    await page.getByRole('button', { name: 'New reservation' }).click();
    await fill({ Slots: '1', User: 'determined', From: morning(30), 'For how long': 'a while', Note: 'for the <b>demo</b>' });
    await dialog.getByRole('button', { name: 'Reserve' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'enter a length such as 90m, 4h or 2d' }).waitFor();
    await fill({ 'For how long': '4h', User: 'nobody-of-this-name' });
    await dialog.getByRole('button', { name: 'Reserve' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'There is no user nobody-of-this-name' }).waitFor();
    await fill({ User: 'determined', Slots: '1000' });
    await dialog.getByRole('button', { name: 'Reserve' }).click();
    await dialog.getByRole('alert').waitFor();
    assert.deepEqual(await violations(page), []);
    await fill({ Slots: '1' });
    await dialog.getByRole('button', { name: 'Reserve' }).click();
    const slots = rows(page, 'reservations').filter({ hasText: '1 slot' });
    await slots.filter({ hasText: 'coming' }).filter({ hasText: 'for the <b>demo</b>' }).waitFor();
    await page.getByRole('button', { name: 'New reservation' }).click();
    await dialog.getByLabel(/A maintenance/).check();
    await fill({ Nodes: world.node, From: morning(40), 'For how long': '2d' });
    await dialog.getByRole('button', { name: 'Reserve' }).click();
    const node = rows(page, 'reservations').filter({ hasText: 'maintenance' });
    await node.waitFor();
    await sound(page, ['/manage/reservations', '/manage/reservations?name=nothing-has-this-name']);
    await page.goto(`${url}/manage/reservations?name=determined`);
    await slots.waitFor();
    assert.equal(await node.count(), 0);
    await page.goto(`${url}/manage/reservations`);
    for (const row of [slots, node]) {
      await row.getByRole('button', { name: /^cancel/ }).click();
      await dialog.getByRole('button', { name: 'Cancel the reservation' }).click();
      await row.waitFor({ state: 'detached' });
    }
    await page.getByText('Nothing is reserved.').waitFor();
  },

  'usage over time is drawn, listed and becomes a table': async (page) => {
    await signIn(page, '/manage/usage');
    const chart = page.getByRole('img', { name: /^Slot hours of each day by workspace: Uncategorized / });
    await chart.waitFor();
    assert.ok((await chart.locator('rect').count()) > 0, 'there are bars');
    await rows(page, 'usage').filter({ hasText: 'Uncategorized' }).waitFor();
    await page.getByRole('button', { name: 'User', exact: true }).click();
    await rows(page, 'usage').filter({ hasText: 'determined' }).waitFor();
    assert.match(page.url(), /by=user/);
    await page.getByRole('button', { name: 'Pool', exact: true }).click();
    await rows(page, 'usage').filter({ hasText: 'default' }).waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()]);
    const table = readFileSync(await file.path(), 'utf8').trim().split('\n');
    assert.match(table[0], /^aggregation_type,aggregation_key,date,seconds/);
    assert.ok(table.some((l) => l.startsWith('resource_pool,default,')), table.join(' | '));
    await page.getByText('Numbers of each day').click();
    await page.getByRole('columnheader', { name: 'default' }).waitFor();
    await page.getByRole('button', { name: '12 months' }).click();
    await page.getByRole('img', { name: /^Slot hours of each month by pool/ }).waitFor();
    await page.reload();
    await page.getByRole('img', { name: /^Slot hours of each month by pool/ }).waitFor();
    await page.getByLabel('search by name').fill('no pool has this name');
    await page.getByText('No name matches.').waitFor();
    await page.goto(`${url}/manage/usage?from=2020-01-01&until=2020-01-31`);
    await page.getByText('Nothing was used in this time.').waitFor();
    await page.goto(`${url}/manage/usage?from=2020-02-30`);
    await page.getByRole('alert').filter({ hasText: '2020-02-30 is not a date' }).waitFor();
    await sound(page, ['/manage/usage?by=user', '/manage/usage?from=2020-01-01&until=2020-01-31']);
  },

  'a person sees where they are signed in, and ends it': async (page, problems) => {
    await enter(page, 'admin', '/settings');
    await post(page, '/api/v1/users', { user: { username: 'ui-zoe', active: true, admin: false }, password: '', isHashed: false });
    await enter(page, 'ui-zoe', '/settings');
    const other = await (await page.context().browser().newContext()).newPage();
    other.setDefaultTimeout(patience);
    try {
      await enter(other, 'ui-zoe', '/settings');
      await page.reload();
      const mine = rows(page, 'sign-ins');
      await until('both sign-ins', async () => (await mine.count()) === 2);
      assert.equal(await mine.filter({ hasText: 'this one' }).count(), 1);
      assert.equal(await mine.filter({ hasText: 'this one' }).getByRole('button', { name: /^end sign-in/ }).count(), 0, 'the own one ends with a sign-out');
      await mine.filter({ hasNotText: 'this one' }).getByRole('button', { name: /^end sign-in/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'End it' }).click();
      await until('one sign-in', async () => (await mine.count()) === 1);
      await other.reload();
      await other.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
    } finally {
      await other.context().close();
    }
    await sound(page, ['/settings']);
  },

  'groups and roles are prepared, and hold when roles are in use': async (page) => {
    await signIn(page, '/manage/groups');
    await page.getByText('Roles are not in use on this cluster.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Roles' }).count(), 0, 'nothing of roles is shown to others before');
    await enter(page, 'admin', '/manage/groups');
    const dialog = page.getByRole('dialog');
    const long = `ui-group ${'with a name that no column can hold '.repeat(4)}`.trim();
    await post(page, '/api/v1/users', { user: { username: 'ui-lea', active: true, admin: false }, password: '', isHashed: false });
    await post(page, '/api/v1/users', { user: { username: 'ui-tom', active: true, admin: false }, password: '', isHashed: false });
    const { workspace } = await post(page, '/api/v1/workspaces', { name: 'ui-team' });
    await page.reload();
    await page.getByRole('button', { name: 'New group' }).click();
    await dialog.getByLabel('Name').fill(long);
    await dialog.getByLabel('Members').fill('ui-lea, nobody-of-this-name');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByRole('alert').filter({ hasText: 'There is no user nobody-of-this-name.' }).waitFor();
    await dialog.getByLabel('Members').fill('ui-lea');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL('**/manage/groups/*');
    const group = new URL(page.url()).pathname;
    await rows(page, 'members').filter({ hasText: 'ui-lea' }).waitFor();
    await page.getByRole('button', { name: 'Add members' }).click();
    await dialog.getByLabel('Users').fill('ui-tom');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await until('two members', async () => (await rows(page, 'members').count()) === 2);
    await page.getByRole('button', { name: 'remove ui-tom' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await until('one member', async () => (await rows(page, 'members').count()) === 1);
    await sound(page, [group]);
    // Roles: the group leads a workspace; one person only reads it.
    await page.goto(`${url}/manage/roles`);
    await page.getByText('Roles are not in use on this cluster').waitFor();
    await page.getByRole('button', { name: 'Assign a role' }).click();
    await dialog.locator('select[name=kind]').selectOption('group');
    await dialog.getByLabel('Name of the group').fill(long);
    await dialog.locator('select[name=where]').selectOption({ label: 'ui-team' });
    await dialog.locator('select[name=role]').selectOption({ label: 'WorkspaceAdmin' });
    assert.equal(await dialog.locator('select[name=role] option', { hasText: 'ClusterAdmin' }).count(), 0, 'in a workspace only roles that hold in one');
    await dialog.getByRole('button', { name: 'Assign' }).click();
    await rows(page, 'roles').filter({ hasText: 'WorkspaceAdmin' }).filter({ hasText: 'ui-team' }).waitFor();
    await page.getByLabel('where').selectOption({ label: 'ui-team' });
    await until('one role in the workspace', async () => page.url().includes('where='));
    await page.goto(`${url}/workspaces/${workspace.id}/members`);
    await page.getByRole('button', { name: 'Assign a role' }).click();
    await dialog.getByLabel('Username').fill('ui-tom');
    await dialog.locator('select[name=role]').selectOption({ label: 'Viewer' });
    await dialog.getByRole('button', { name: 'Assign' }).click();
    await rows(page, 'members').filter({ hasText: 'ui-tom' }).waitFor();
    await sound(page, ['/manage/groups', '/manage/roles', '/manage/roles?name=nobody-at-all', `/workspaces/${workspace.id}/members`]);
    await ask('roles-on');
    try {
      const button = (name) => page.getByRole('button', { name, exact: true });
      await enter(page, 'ui-tom', `/workspaces/${workspace.id}`);
      await button('Pin').waitFor();
      assert.deepEqual([await button('Edit').count(), await button('Archive').count(), await button('Delete').count()], [0, 0, 0], 'a Viewer changes nothing');
      await page.goto(`${url}/manage/webhooks`);
      await page.getByText('The administrators of a workspace').waitFor();
      await enter(page, 'ui-lea', `/workspaces/${workspace.id}`);
      await button('Edit').waitFor();
      assert.deepEqual([await button('Archive').count(), await button('Delete').count()], [1, 1], 'who leads a workspace by a role changes it');
      await page.goto(`${url}/manage/webhooks`);
      await button('New webhook').click();
      assert.deepEqual(await dialog.locator('select[name=workspace] option').allTextContents(), ['ui-team']);
      await dialog.getByRole('button', { name: 'Go back' }).click();
      await page.goto(`${url}/workspaces/${workspace.id}/members`);
      await rows(page, 'members').filter({ hasText: 'ui-tom' }).waitFor();
      await page.getByRole('button', { name: 'Assign a role' }).click();
      await dialog.getByLabel('Username').fill('ui-zoe-nobody');
      await dialog.getByRole('button', { name: 'Assign' }).click();
      await dialog.getByRole('alert').filter({ hasText: 'There is no user' }).waitFor();
      await dialog.getByRole('button', { name: 'Go back' }).click();
      await page.goto(`${url}/manage/roles`);
      await rows(page, 'roles').filter({ hasText: 'ui-tom' }).waitFor();
      assert.equal(await page.getByText('Roles are not in use').count(), 0);
      await page.getByRole('button', { name: 'Assign a role' }).click();
      assert.deepEqual(await dialog.locator('select[name=where] option').allTextContents(), ['ui-team'], 'only where she may');
      await dialog.getByRole('button', { name: 'Go back' }).click();
      await rows(page, 'roles').filter({ hasText: 'ui-tom' }).getByRole('button', { name: /^take away Viewer/ }).click();
      await dialog.getByRole('button', { name: 'Take it away' }).click();
      await rows(page, 'roles').filter({ hasText: 'ui-tom' }).waitFor({ state: 'detached' });
      await page.goto(`${url}/manage/groups`);
      assert.equal(await page.getByRole('button', { name: 'New group' }).count(), 0, 'groups are of the administrators');
      await sound(page, ['/manage/roles']);
      await enter(page, 'ui-tom', `/workspaces/${workspace.id}/members`);
      await page.getByText(`There is no workspace ${workspace.id}.`).waitFor();
      await page.goto(url + group);
      await page.getByText('There is no group').waitFor();
    } finally {
      await ask('roles-off');
    }
    await enter(page, 'admin', group);
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No group yet.').waitFor();
  },

  'a pool is bound to a workspace, and opened again': async (page) => {
    await signIn(page, '/manage/pools');
    await page.getByText('Only administrators can do this.').waitFor();
    await enter(page, 'admin', '/manage/pools');
    const dialog = page.getByRole('dialog');
    const { workspace } = await post(page, '/api/v1/workspaces', { name: `ui-pool-team ${'with a long name '.repeat(4)}`.trim() });
    await page.reload();
    await page.getByRole('button', { name: 'change who may use default' }).click();
    await dialog.getByText('Tasks that name no pool run here').waitFor();
    await dialog.getByRole('button', { name: 'Go back' }).click();
    await page.getByRole('button', { name: 'change who may use lab' }).click();
    await dialog.getByLabel('search workspaces').fill('ui-pool-team');
    await dialog.getByLabel(/ui-pool-team/).check();
    assert.deepEqual(await violations(page), []);
    await dialog.getByRole('button', { name: 'Save' }).click();
    const lab = rows(page, 'pools').filter({ hasText: 'lab' });
    await lab.getByRole('link', { name: /^ui-pool-team/ }).click({ position: { x: 5, y: 5 } });
    await rows(page, 'pools of the workspace').filter({ hasText: 'lab' }).waitFor();
    await sound(page, ['/manage/pools', `/workspaces/${workspace.id}/pools`]);
    await page.goto(`${url}/workspaces/1/pools`);
    await rows(page, 'pools of the workspace').filter({ hasText: 'default' }).waitFor();
    assert.equal(await rows(page, 'pools of the workspace').filter({ hasText: 'lab' }).count(), 0, 'another workspace may not use it');
    await page.goto(`${url}/manage/pools`);
    await page.getByRole('button', { name: 'change who may use lab' }).click();
    await dialog.getByRole('button', { name: 'Open it to all' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await lab.getByText('all workspaces').waitFor();
  },

  'a generic task starts from a form, below another one': async (page) => {
    await signIn(page, '/tasks?kind=generics');
    const { taskId } = await post(page, '/api/v1/generic-tasks', { config: 'description: ui-above\nentrypoint: [sleep, "600"]\nresources: {slots: 0}\n', contextDirectory: [] });
    await page.goto(`${url}/tasks/${taskId}`);
    await page.getByRole('link', { name: 'New task below' }).click();
    const check = page.getByRole('region', { name: 'check by the master' });
    await check.getByText('Enter the program that the generic task runs.').waitFor();
    assert.equal(await page.getByLabel('Below task').inputValue(), taskId);
    await page.getByLabel('Program').fill('echo from the page of a generic task');
    await page.getByLabel('Name').fill('ui-below');
    await page.getByLabel('Slots').fill('0');
    await check.getByText('This can start').waitFor();
    await page.getByText('With all defaults').click();
    await page.getByLabel('configuration with all defaults').getByText('slots: 0').waitFor();
    await page.getByRole('button', { name: 'YAML' }).click();
    const yaml = page.getByLabel('configuration as YAML');
    const good = await yaml.inputValue();
    await yaml.fill(`${good}no_such_field: 1\n`);
    await check.getByText('no_such_field').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled());
    await yaml.fill(good);
    await check.getByText('This can start').waitFor();
    await page.getByLabel('never paused').check();
    await check.getByText('This can start').waitFor();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL((u) => /^\/tasks\//.test(u.pathname) && !u.pathname.endsWith(taskId));
    await page.getByRole('log').getByText('from the page of a generic task').waitFor();
    const tree = page.getByRole('region', { name: 'its tree of tasks' });
    await tree.getByRole('link', { name: 'ui-above' }).waitFor();
    await tree.getByText('never paused').waitFor();
    await sound(page, ['/launch/generics', `/launch/generics?parent=${taskId}&view=yaml`]);
    await post(page, `/api/v1/tasks/${taskId}/kill`, { taskId, killFromRoot: false });
  },

  'a question comes before a kill': async (page) => {
    await signIn(page, `/experiments/${world.waiting}`);
    await page.getByRole('button', { name: 'Kill', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('since their last checkpoint is lost').waitFor();
    await dialog.getByRole('button', { name: 'Go back' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Kill', exact: true }).click();
    await dialog.getByRole('button', { name: 'Kill' }).click();
    await page.locator('.state', { hasText: 'canceled' }).waitFor();
  },

  'a master that is away is said to be, and is not missed when it is back': async (page, problems) => {
    await signIn(page, `/experiments/${world.live}`);
    // A training of its own: of one that has run for some minutes, the page shows a selection of the steps.
    const { experiment } = await post(page, '/api/v1/experiments', {
      config: 'name: ui-away\nentrypoint: python3 train.py\nsearcher: {name: single, metric: val_loss, max_length: {batches: 100}}\nresources: {priority: 1}\n', parentId: world.live, activate: true,
    });
    await page.goto(`${url}/experiments/${experiment.id}`);
    await until('a first point', () => points(page, 'loss'));
    await ask('master-away');
    await page.getByText('connection lost').waitFor({ timeout: patience });
    const before = await points(page, 'loss');
    await ask('master-back');
    await until('the connection', async () => (await page.locator('.link.live').count()) === 1);
    await until('what was reported meanwhile', async () => (await points(page, 'loss')) > before + 3);
    const gaps = await page.evaluate(() => {
      const x = window.__charts.loss.data[0];
      return [...x].some((v, i) => i > 0 && v - x[i - 1] > 1);
    });
    assert.equal(gaps, false, 'no step is missing');
    await post(page, `/api/v1/experiments/${experiment.id}/kill`, {});
    problems.length = 0; // failed requests are what this story is about
  },
};

await tell(stories);
