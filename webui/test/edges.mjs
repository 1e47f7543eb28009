// The pages where things are not as usual: nothing there, everything slow, everything failing, no rights, very many or very
// long, numbers that are none, two tabs, the keyboard alone. In a real browser against a real master (story.mjs).
// `node test/edges.mjs NAME…` runs the stories whose names hold one of the words.
import assert from 'node:assert/strict';
import { ask, enter, fits, points, post, rows, signIn, sound, tell, until, url, violations, world } from './story.mjs';

// Pages and what they read; the page must not be usable without it.
const reads = [
  ['/dashboard', '**/api/v1/experiments?*'], ['/experiments', '**/api/v1/experiments*'], [`/experiments/${world.done}`, `**/api/v1/experiments/${world.done}?*`, `**/api/v1/experiments/${world.done}`],
  [`/experiments/${world.search}/trials`, `**/api/v1/experiments/${world.search}/trials*`], [`/experiments/${world.search}/hyperparameters`, '**/search-trials*'],
  [`/experiments/${world.done}/checkpoints`, '**/api/v1/experiments/*/checkpoints*'], [`/experiments/${world.failed}/timeline`, '**/attempts*'], [`/experiments/${world.done}/code`, '**/file_tree*'],
  [`/compare?experiments=${world.done},${world.search}`, `**/api/v1/experiments/${world.done}*`], ['/tasks', '**/api/v1/notebooks*'], [`/tasks/${world.command}`, `**/api/v1/tasks/${world.command}`],
  ['/models', '**/api/v1/models*'], ['/cluster', '**/api/v1/agents*'], [`/nodes/${encodeURIComponent(world.node)}`, '**/api/v1/agents*'], ['/workspaces', '**/api/v1/workspaces?*', '**/api/v1/workspaces'], ['/workspaces/1', '**/api/v1/workspaces/1'], ['/projects/1', '**/api/v1/projects/1'],
  ['/manage/users', '**/api/v1/users?*'], ['/manage/tokens', '**/api/v1/tokens*'], ['/manage/secrets', '**/api/v1/detent/secrets*'], ['/manage/webhooks', '**/api/v1/webhooks*'], ['/manage/templates', '**/api/v1/templates*'], ['/manage/policies', '**/config-policies/**'],
  ['/manage/quotas', '**/api/v1/detent/quotas*'], ['/manage/usage', '**/resources/allocation/aggregated*'], ['/settings', '**/api/v1/detent/sessions*'],
];

// kinds are one page of each kind, for axe, which takes seconds for each page: pages of a kind say the same when
// something is wrong.
const kinds = ['/dashboard', '/experiments', `/experiments/${world.done}`, '/manage/quotas', '/launch/notebooks'];

const loading = (page) => page.locator('main .loading').count();

// caught gives matching requests to a handler, until the returned function is called.
async function caught(page, patterns, handler) {
  for (const pattern of patterns) await page.route(pattern, handler);
  return async () => {
    for (const pattern of patterns) await page.unroute(pattern, handler);
  };
}

const stories = {
  'while the master takes its time, each page says that it loads': async (page) => {
    await signIn(page, '/settings');
    const silent = [];
    for (const [path, ...patterns] of reads) {
      const held = [];
      const free = await caught(page, patterns, (route) => void held.push(route));
      await page.goto(url + path);
      await until(`${path} asks`, () => held.length > 0, 10_000).catch((error) => silent.push(error.message));
      if (!(await page.locator('main .loading').first().waitFor({ timeout: 5000 }).then(() => true, () => false))) silent.push(path);
      await free();
      await Promise.all(held.map((r) => r.continue().catch(() => {})));
      await until(`${path} is there`, async () => (await loading(page)) === 0);
    }
    assert.deepEqual(silent, []);
  },

  'a request that fails is said in words, and tried again': async (page) => {
    await signIn(page, '/settings');
    const wrong = [];
    for (const [path, ...patterns] of reads) {
      const free = await caught(page, patterns, (route) => route.fulfill({ status: 500, contentType: 'application/json', body: '{"message": "it is broken on purpose"}' }));
      await page.goto(url + path);
      const problem = page.getByRole('alert').filter({ hasText: 'it is broken on purpose' }).first();
      if (!(await problem.waitFor({ timeout: 15_000 }).then(() => true, () => false))) {
        wrong.push(`${path} does not say it`);
        await free();
        continue;
      }
      if (kinds.includes(path)) wrong.push(...(await violations(page)).map((v) => `${path} ${v}`));
      await free();
      // Pages that follow events, or read again by themselves, have no button.
      const mended = async () => {
        if ((await problem.count()) === 0) return true;
        await page.evaluate(() => document.querySelectorAll('main [role=alert] button').forEach((b) => b.textContent === 'Try again' && b.click()));
        return problem.waitFor({ state: 'detached', timeout: 1000 }).then(() => true, () => false);
      };
      await until('the mend', mended, 15_000).catch(() => wrong.push(`${path} stays broken`));
    }
    assert.deepEqual(wrong, []);
  },

  'a master that is away is said to be, on every page': async (page) => {
    await signIn(page, '/settings');
    const wrong = [];
    for (const [path, ...patterns] of reads) {
      const free = await caught(page, patterns, (route) => route.abort('connectionrefused'));
      await page.goto(url + path);
      if (!(await page.getByRole('alert').filter({ hasText: 'The master does not answer' }).first().waitFor({ timeout: 15_000 }).then(() => true, () => false))) wrong.push(path);
      await free();
    }
    assert.deepEqual(wrong, []);
  },

  'numbers that are none are shown as they are': async (page) => {
    await signIn(page, `/experiments/${world.odd}/trials`);
    await until('four trials', async () => (await rows(page, 'trials').count()) === 4);
    const table = (await rows(page, 'trials').allInnerTexts()).map((t) => t.replace(/\s+/g, ' '));
    const of = (kind) => table.find((t) => t.includes(kind));
    assert.match(of('finite'), /best ?0\.25/, of('finite'));
    for (const kind of ['nan', 'infinite', 'none']) assert.ok(!/best/.test(of(kind)) && /–|NaN|∞/.test(of(kind)), `a trial without a number: ${of(kind)}`);
    // The loss is NaN from step 10 to 19: there the curve has a gap.
    const { trials } = await post(page, `/api/v1/experiments/${world.odd}/trials`, undefined, 'GET');
    await page.goto(`${url}/experiments/${world.odd}?trials=${trials[0].id}`);
    await until('points', async () => (await points(page, 'loss')) === 40);
    const curves = await page.evaluate(() => window.__charts.loss.data.slice(1).map((y) => [...y].map((v) => (v === null ? 'gap' : v === undefined ? 'none' : Number.isFinite(v) ? 'number' : 'wrong'))));
    assert.ok(!curves.flat().includes('wrong'), 'only numbers are drawn');
    const training = curves.find((y) => !y.includes('none'));
    assert.equal(training.flatMap((v, i) => (v === 'gap' ? [i + 1] : [])).join(), '10,11,12,13,14,15,16,17,18,19');
    const gaps = () => page.evaluate(() => Math.max(...window.__charts.loss.series.slice(1).map((s) => s._paths?.gaps?.length ?? 0)));
    assert.equal(await until('a gap is drawn', gaps), 1);
    assert.ok(!/NaN|undefined|Infinity/.test(await page.locator('aside.facts').innerText()));
    await page.goto(`${url}/experiments/${world.odd}/hyperparameters`);
    await page.getByText('4 trials. Drag along an axis').waitFor();
    await until('four rows', async () => (await rows(page, 'chosen trials').count()) === 4);
    await page.goto(`${url}/compare?experiments=${world.odd},${world.done}&view=metrics`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.goto(`${url}/experiments?where=${encodeURIComponent('validation.val_loss < 1 and name ~ odd')}`);
    await until('the one with a number', async () => (await rows(page, 'experiments').count()) === 1);
    const odd = (await rows(page, 'experiments').first().innerText()).replace(/\s+/g, ' ');
    assert.ok(!/NaN|undefined/.test(odd), odd);
    await sound(page, [`/experiments/${world.odd}`, `/experiments/${world.odd}/trials`, `/experiments/${world.odd}/hyperparameters`, `/compare?experiments=${world.odd},${world.done}&view=metrics`], [['light', 1280]]);
  },

  'very long names make no page wider': async (page) => {
    await signIn(page, '/');
    const long = 'a-name-that-somebody-has-made-by-joining-all-hyperparameters_lr=0.0001_'.repeat(3);
    const { workspace } = await post(page, '/api/v1/workspaces', { name: 'edges' });
    const { project } = await post(page, `/api/v1/workspaces/${workspace.id}/projects`, { name: `ui ${long}`.slice(0, 100), workspaceId: workspace.id, description: long });
    const { model } = await post(page, '/api/v1/models', { name: `ui ${long}`.slice(0, 120), description: long, labels: [long.slice(0, 60)], metadata: { [long.slice(0, 60)]: long } });
    await post(page, '/api/v1/commands', { config: { description: long, entrypoint: ['echo', long], resources: { slots: 0 } } });
    await post(page, `/api/v1/experiments/${world.odd}`, { id: world.odd, name: long.slice(0, 128), labels: [long.slice(0, 50), 'short'], description: long, notes: `# ${long}\n\n${long}` }, 'PATCH');
    try {
      await fits(page, ['/dashboard?who=all', '/experiments', `/experiments/${world.odd}`, `/experiments/${world.odd}/trials`, `/experiments/${world.odd}/hyperparameters`, `/experiments/${world.odd}/logs`, `/compare?experiments=${world.odd},${world.done}`,
        '/tasks?over=1', '/workspaces/1', `/projects/${project.id}`, '/models', `/models/${model.id}`, '/cluster?tab=queue', `/experiments/${world.odd}/fork`]);
      await page.goto(`${url}/experiments`);
      await rows(page, 'experiments').first().waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'search everything' }).fill('a-name-that-somebody');
      await page.getByRole('option', { name: /a-name-that-somebody/ }).first().waitFor();
      const wide = await page.evaluate(() => document.querySelector('.palette').scrollWidth - document.querySelector('.palette').clientWidth);
      assert.ok(wide <= 0, `the search is ${wide} pixels too wide`);
      assert.deepEqual(await violations(page), []);
    } finally {
      await post(page, `/api/v1/experiments/${world.odd}`, { id: world.odd, name: 'edge-odd' }, 'PATCH');
    }
  },

  'a search of ten thousand trials': async (page) => {
    await signIn(page, `/experiments/${world.many}/hyperparameters`);
    await page.getByText('10,000 trials. Drag along an axis').waitFor();
    const lines = page.getByRole('img', { name: /^Parallel coordinates of 10,000 trials/ });
    await lines.scrollIntoViewIfNeeded();
    const box = await lines.boundingBox();
    await page.mouse.move(box.x + 64, box.y + 180);
    await page.mouse.down();
    await page.mouse.move(box.x + 64, box.y + 60, { steps: 8 });
    await page.mouse.up();
    const chosen = await until('a choice', async () => (await page.locator('.lead.chosen').innerText()).match(/^([\d,]+)\s+of\s+10,000\s+trials\s+chosen/)?.[1]);
    assert.ok(Number(chosen.replace(',', '')) > 1000, chosen);
    const table = page.getByRole('grid', { name: 'chosen trials' });
    assert.ok((await table.locator('[role=row]').count()) < 200, 'only rows on the screen are in the document');
    await page.getByRole('button', { name: 'take away the choice of layers' }).click();
    await page.getByText('10,000 trials. Drag along an axis').waitFor();
    assert.deepEqual(await violations(page), []);
    await page.goto(`${url}/experiments/${world.many}/trials`);
    await until('rows', async () => (await rows(page, 'trials').count()) > 10);
    assert.ok((await rows(page, 'trials').count()) < 200);
    await page.getByText('The first 1,000 of 10,000 trials').waitFor();
    await page.goto(`${url}/experiments/${world.many}`);
    await page.getByText('The best 20 of 10,000 trials').waitFor();
    await fits(page, [`/experiments/${world.many}/hyperparameters`]);
  },

  'two tabs show the same, and one sign-out ends both': async (page) => {
    await signIn(page, `/experiments/${world.live}`);
    const other = await page.context().newPage();
    const problems = [];
    other.on('pageerror', (e) => problems.push(e.message));
    await other.goto(`${url}/experiments`);
    const row = rows(other, 'experiments').filter({ hasText: 'edge-live' });
    await row.waitFor();
    // What one tab does, the other shows without a reload.
    await post(page, `/api/v1/experiments/${world.live}`, { id: world.live, name: 'edge-live in two tabs' }, 'PATCH');
    await until('the new name in the list', async () => (await rows(other, 'experiments').filter({ hasText: 'edge-live in two tabs' }).count()) === 1);
    await page.getByRole('heading', { name: 'edge-live in two tabs' }).waitFor();
    await post(page, `/api/v1/experiments/${world.live}`, { id: world.live, name: 'edge-live' }, 'PATCH');
    await until('the old name', async () => (await page.getByRole('heading', { name: 'edge-live', exact: false }).innerText()).endsWith('edge-live'));
    // Both tabs keep an address of their own.
    await other.getByLabel('search by name').fill('edge-done');
    await until('one row', async () => (await rows(other, 'experiments').count()) === 1);
    assert.ok(!page.url().includes('edge-done'));
    // A deletion in one tab is not an error in the other.
    const { experiment } = await post(page, '/api/v1/experiments', { config: 'name: edge-two-tabs\nentrypoint: "true"\nsearcher: {name: single, metric: x, max_length: {batches: 1}}\nresources: {slots_per_trial: 1}\n', activate: false });
    await other.goto(`${url}/experiments/${experiment.id}`);
    await other.getByRole('heading', { name: 'edge-two-tabs' }).waitFor();
    await post(page, `/api/v1/experiments/${experiment.id}/kill`);
    await until('the end', async () => (await other.locator('.head .state').first().innerText()).toLowerCase() === 'canceled');
    await post(page, `/api/v1/experiments/${experiment.id}`, undefined, 'DELETE');
    await page.goto(`${url}/experiments`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
    await other.goto(`${url}/tasks`);
    await other.getByRole('heading', { name: 'Sign in to Detent' }).waitFor();
    assert.deepEqual(problems, []);
    await other.close();
  },

  'everything is reached by the keyboard alone': async (page) => {
    await signIn(page, '/');
    const wrong = [];
    for (const path of ['/dashboard', '/experiments', `/experiments/${world.done}`, `/experiments/${world.search}/trials`, `/experiments/${world.search}/hyperparameters`, `/experiments/${world.done}/checkpoints`, `/experiments/${world.failed}/timeline`,
      `/experiments/${world.done}/code`, `/experiments/${world.done}/logs`, `/compare?experiments=${world.done},${world.search}`, '/tasks', '/launch/notebooks', '/launch/commands?view=yaml', `/experiments/${world.done}/fork`, '/models', '/cluster', '/cluster?tab=queue',
      `/nodes/${encodeURIComponent(world.node)}`, '/workspaces', '/workspaces/1', '/projects/1', '/manage/users', '/manage/webhooks', '/manage/templates', '/manage/quotas', '/manage/usage', '/settings']) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      await until('it is loaded', async () => (await loading(page)) === 0);
      // What a mouse can use and Tab must reach; within a grid the arrow keys move, and Enter opens.
      const wanted = await page.evaluate(() => {
        const seen = (el) => el.checkVisibility({ visibilityProperty: true }) && !el.closest('[inert], [hidden]') && el.getClientRects().length > 0;
        let n = 0;
        return [...document.querySelectorAll('a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary')]
          .filter((el) => seen(el) && !el.closest('[role=grid] [role=row]:not(.th), [role=listbox]'))
          .filter((el) => !(el.type === 'radio' && !el.checked))
          .map((el) => (el.dataset.wanted = String(n++)));
      });
      if (wanted.length < 10) wrong.push(`${path}: there are only ${wanted.length} things to reach`);
      await page.evaluate(() => {
        document.activeElement?.blur();
        window.reached = new Set();
        window.moves = 0;
        addEventListener('focusin', (e) => {
          window.moves++;
          if (e.target.dataset.wanted) window.reached.add(e.target.dataset.wanted);
        });
      });
      let moves = 0;
      for (let i = 0; i < wanted.length * 2 + 60; i += 10) {
        for (let n = 0; n < 10; n++) await page.keyboard.press('Tab');
        const now = await page.evaluate(() => ({ moves: window.moves, reached: window.reached.size, at: document.activeElement.outerHTML.slice(0, 120) }));
        if (now.moves === moves) {
          wrong.push(`${path}: Tab stays at ${now.at}`);
          break;
        }
        moves = now.moves;
        if (now.reached === wanted.length) break;
      }
      const missed = await page.evaluate(() => [...document.querySelectorAll('[data-wanted]')].filter((el) => !window.reached.has(el.dataset.wanted) && !el.disabled && el.checkVisibility({ visibilityProperty: true })).map((el) => el.outerHTML.slice(0, 120)));
      wrong.push(...missed.map((m) => `${path}: ${m}`));
    }
    assert.deepEqual(wrong, []);
  },

  'somebody without any right sees empty places, and no errors': async (page) => {
    await enter(page, 'admin', '/');
    await post(page, '/api/v1/users', { user: { username: 'edge-nora', active: true } });
    await ask('roles-on');
    try {
      await enter(page, 'edge-nora', '/dashboard');
      await page.getByText('No experiments yet.').waitFor();
      await page.getByText('det experiment create config.yaml . --follow').waitFor();
      for (const [path, says] of [['/experiments', 'No experiments yet.'], [`/experiments/${world.done}`, `There is no experiment ${world.done}.`], [`/tasks/${world.command}`, 'There is no such task.'], ['/workspaces/1', 'There is no workspace 1.'],
        ['/projects/1', 'There is no project 1.'], ['/tasks', 'No task is running.'], ['/manage/audit', 'Only administrators can do this.'], ['/manage/quotas', 'There is no quota.']]) {
        await page.goto(url + path);
        await page.getByText(says).first().waitFor();
      }
      const broken = [];
      for (const path of ['/dashboard', '/experiments', '/tasks', '/models', '/workspaces', '/cluster', '/cluster?tab=queue', '/manage/users', '/manage/tokens', '/manage/secrets', '/manage/webhooks', '/manage/templates', '/manage/policies', '/manage/quotas', '/manage/usage', '/settings', '/launch/notebooks']) {
        await page.goto(url + path);
        await page.getByRole('heading', { level: 1 }).first().waitFor();
        await until('it is loaded', async () => (await loading(page)) === 0);
        for (const text of await page.locator('main [role=alert]').allInnerTexts()) if (!/may not|only admin|you may/i.test(text)) broken.push(`${path}: ${text}`);
        if (kinds.includes(path)) broken.push(...(await violations(page)).map((v) => `${path} ${v}`));
      }
      assert.deepEqual(broken, []);
    } finally {
      await ask('roles-off');
    }
  },
};

await tell(stories);
