// One place to find everything by id and name, and to do what can be done.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { api, call, taskKinds } from '../lib/api';
import { useLoad } from '../lib/load';
import { manage } from '../lib/manage';
import { best } from '../lib/rank';
import { go, link } from '../lib/router';
import { chooseTheme, settings } from '../lib/settings';
import { bare, ended } from '../lib/states';
import { viewsOf } from '../lib/views';
import { asHyperparameter } from '../lib/where';
import { me, signOut } from '../lib/session';
import { listProjectColumns } from '../lib/types';

interface Item {
  group: string;
  name: string;
  note?: string;
  act: () => void;
}

const settle = 180; // milliseconds without a key before the search begins
const most = 6; // of a group

const pages: [string, string][] = [
  ['Experiments', '/experiments'], ['Tasks', '/tasks'], ['Models', '/models'], ['Search in logs', '/logs'], ['Workspaces', '/workspaces'], ['Cluster: nodes', '/cluster'], ['Cluster: queue', '/cluster?tab=queue'],
  ['Users', '/manage/users'], ['Access tokens', '/manage/tokens'], ['Webhooks', '/manage/webhooks'], ['Templates', '/manage/templates'], ['Reservations', '/manage/reservations'], ['Quotas', '/manage/quotas'], ['Usage', '/manage/usage'], ['My settings', '/settings'], ['My sign-ins', '/settings'],
];
const adminPages: [string, string][] = [['Groups', '/manage/groups'], ['Roles', '/manage/roles'], ['Pool bindings', '/manage/pools'], ['Audit trail', '/manage/audit']];

export function Palette({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [asked, setAsked] = useState('');
  const [at, setAt] = useState(0);
  useEffect(() => {
    if (!dialog.current?.open) dialog.current?.showModal();
  }, []);
  useEffect(() => {
    const t = setTimeout(() => setAsked(typed.trim()), settle);
    return () => clearTimeout(t);
  }, [typed]);
  const id = /^\d{1,9}$/.test(asked) ? Number(asked) : 0;
  const experiments = useLoad(async (signal) => {
    const byName = asked ? (await api.experiments({ name: asked, limit: most, sortBy: 'SORT_BY_ID', orderBy: 'ORDER_BY_DESC', withoutConfig: true }, signal)).experiments : [];
    const byId = id ? await api.experiment(id, signal).then((e) => [e.experiment], () => []) : [];
    return [...byId, ...byName.filter((e) => !byId.some((x) => x.id === e.id))];
  }, [asked]);
  const columns = useLoad(async (signal) => (asked ? (await call(listProjectColumns, { path: [0], signal })).columns : []), [!!asked]);
  const known = useMemo(() => (columns.data ?? []).filter((c) => c.column.startsWith('hp.')).map((c) => c.column.slice(3)), [columns.data]);
  const hyper = useMemo(() => asHyperparameter(asked, known), [asked, known]);
  const having = useLoad(async (signal) => (hyper.exact ? (await api.search({ query: hyper.exact, sort: 'id=desc', limit: most, withoutConfig: true }, signal)).experiments : []), [hyper.exact]);
  const trial = useLoad(async (signal) => (id ? api.trial(id, signal).catch(() => null) : null), [id]);
  const models = useLoad(async (signal) => (asked ? (await api.models({ name: asked, limit: most }, signal)).models : []), [asked]);
  const tasks = useLoad(async (signal) => (await Promise.all(taskKinds.map((k) => api.tasks(k, signal)))).flat(), []);
  const workspaces = useLoad((signal) => manage.workspaces(signal), []);
  const projects = useLoad((signal) => manage.projects(0, signal), []);
  const templates = useLoad((signal) => manage.templates(signal), []);
  const users = useLoad((signal) => manage.users(signal), []);
  const agents = useLoad((signal) => api.agents(signal), []);

  const items = useMemo((): Item[] => {
    const to = (path: string) => () => go(path);
    const doing: Item[] = [
      { group: 'Do', name: 'Start a notebook', act: to('/launch/notebooks') }, { group: 'Do', name: 'Start a TensorBoard', act: to('/launch/tensorboards') },
      { group: 'Do', name: 'Start a shell', act: to('/launch/shells') }, { group: 'Do', name: 'Run a command', act: to('/launch/commands') }, { group: 'Do', name: 'Start a generic task', act: to('/launch/generics') },
      { group: 'Do', name: 'New template', act: to('/manage/templates?edit=') },
      { group: 'Do', name: 'Light theme', act: () => chooseTheme('light') }, { group: 'Do', name: 'Dark theme', act: () => chooseTheme('dark') }, { group: 'Do', name: 'System theme', act: () => chooseTheme('system') },
      ...(me.value?.admin ? [{ group: 'Do', name: 'Set a message for everybody', act: to('/manage/message') }] : []),
      { group: 'Do', name: 'Sign out', act: () => void signOut() },
    ];
    const word = typed.trim();
    const over: Item[] = word ? [
      { group: 'Search', name: `Experiments whose name has “${word}”`, act: to(link('/experiments', { name: word })) },
      { group: 'Search', name: `Logs with “${word}”`, note: 'of all tasks', act: to(link('/logs', { q: word })) },
      ...(/[<>=~]/.test(word) && !hyper.exact ? [{ group: 'Search', name: `Experiments where ${word}`, note: 'filter', act: to(link('/experiments', { where: word })) }] : []),
    ] : [];
    return [
      ...(trial.data && id ? [{ group: 'Trials', name: `Trial ${trial.data.id}`, note: `of experiment ${trial.data.experimentId}`, act: to(`/trials/${trial.data.id}`) }] : []),
      ...(experiments.data ?? []).slice(0, most).map((e): Item => ({ group: 'Experiments', name: `${e.id} ${e.name}`, note: bare(e.state).toLowerCase(), act: to(`/experiments/${e.id}`) })),
      ...(word ? hyper.lines : []).map((line): Item => ({ group: 'Hyperparameters', name: `Experiments where ${line}`, note: 'all', act: to(link('/experiments', { where: line })) })),
      ...(word && hyper.exact ? having.data ?? [] : []).map((e): Item => ({ group: 'Hyperparameters', name: `${e.id} ${e.name}`, note: hyper.exact, act: to(`/experiments/${e.id}`) })),
      ...best(word, viewsOf(settings.value), (v) => v.name, most).map((v): Item => ({ group: 'Views', name: v.name, act: to(v.to) })),
      ...best(word, me.value?.admin ? [...pages, ...adminPages] : pages, ([name]) => name, word ? most : pages.length).map(([name, path]): Item => ({ group: 'Pages', name, act: to(path) })),
      ...best(word, doing, (d) => d.name, word ? most : doing.length),
      ...(word ? [
        ...best(word, (tasks.data ?? []).filter((t) => !ended(t.state) || t.id.startsWith(word)), (t) => `${t.description} ${t.id}`, most).map((t): Item => ({ group: 'Tasks', name: t.description || t.id, note: bare(t.state).toLowerCase(), act: to(`/tasks/${t.id}`) })),
        ...(models.data ?? []).map((m): Item => ({ group: 'Models', name: m.name, act: to(`/models/${m.id}`) })),
        ...best(word, projects.data ?? [], (p) => p.name, most).map((p): Item => ({ group: 'Projects', name: p.name, note: p.workspaceName, act: to(`/projects/${p.id}`) })),
        ...best(word, workspaces.data ?? [], (w) => w.name, most).map((w): Item => ({ group: 'Workspaces', name: w.name, act: to(`/workspaces/${w.id}`) })),
        ...best(word, templates.data ?? [], (t) => t.name, most).map((t): Item => ({ group: 'Templates', name: t.name, act: to(link('/manage/templates', { edit: t.name })) })),
        ...best(word, users.data ?? [], (u) => `${u.displayName} ${u.username}`, most).map((u): Item => ({ group: 'Users', name: u.displayName || u.username, note: `${u.username}'s experiments`, act: to(link('/experiments', { user: u.username })) })),
        ...best(word, agents.data ?? [], (a) => a.id, most).map((a): Item => ({ group: 'Nodes', name: a.id, act: to(`/nodes/${encodeURIComponent(a.id)}`) })),
      ] : []),
      ...over,
    ];
  }, [typed, experiments.data, trial.data, models.data, tasks.data, workspaces.data, projects.data, templates.data, users.data, agents.data, settings.value, hyper, having.data]);
  useEffect(() => setAt(0), [typed]);
  const chosen = Math.min(at, items.length - 1);
  useEffect(() => {
    document.getElementById(`found-${chosen}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  // The browser's event of closing comes later: who presses Ctrl-K before it opens the palette anew, and the event of this one must not close that.
  const left = useRef(false);
  const leave = () => {
    if (left.current) return;
    left.current = true;
    dialog.current?.close();
    close();
  };
  const run = (item: Item | undefined) => {
    if (!item) return;
    leave();
    item.act();
  };
  const keys = (e: KeyboardEvent) => {
    const n = items.length;
    const step: Record<string, number> = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: Math.min(n - 1, chosen + 8), PageUp: Math.max(0, chosen - 8) };
    if (e.key in step && n) setAt((step[e.key]! + n) % n);
    else if (e.key === 'Enter') run(items[chosen]);
    else return;
    e.preventDefault();
  };
  return (
    <dialog ref={dialog} class="palette" aria-label="search everything" onCancel={leave} onClose={leave} onClick={(e) => e.target === dialog.current && leave()}>
      <input type="text" role="combobox" aria-label="search everything" aria-expanded="true" aria-controls="found" aria-autocomplete="list" aria-activedescendant={items.length ? `found-${chosen}` : undefined}
        placeholder="Find by id, name or hyperparameter, or say what to do" autocomplete="off" spellcheck={false} value={typed} onInput={(e) => setTyped(e.currentTarget.value)} onKeyDown={keys} />
      <div id="found" role="listbox" aria-label="what was found">
        {[...new Set(items.map((i) => i.group))].map((group) => (
          <div key={group} role="group" aria-label={group}>
            <p class="groupname" aria-hidden="true">{group}</p>
            {items.map((item, i) => item.group === group && (
              <div key={i} id={`found-${i}`} role="option" aria-selected={i === chosen} class="found-item" onPointerMove={() => i !== chosen && setAt(i)} onClick={() => run(item)}>
                <span class="cut">{item.name}</span>
                {item.note && <span class="faint small cut">{item.note}</span>}
              </div>
            ))}
          </div>
        ))}
        {items.length === 0 && <p class="faint pad">Nothing has this name.</p>}
      </div>
      <p class="faint small keys" aria-hidden="true"><kbd>↑</kbd> <kbd>↓</kbd> choose <kbd>Enter</kbd> open <kbd>Esc</kbd> close</p>
    </dialog>
  );
}
