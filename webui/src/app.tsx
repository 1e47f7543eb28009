// The pages and their addresses.
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, ApiError, onSignedOut } from './lib/api';
import { go, link, match, path, type Route } from './lib/router';
import { Empty, Loading, Problem } from './parts/bits';
import { placeOfMLflow } from './lib/mlflow';
import { master, me, signedIn } from './lib/session';
import { Shell, Toasts, useTitle } from './parts/Shell';
import { Experiments } from './pages/Experiments';
import { Login } from './pages/Login';
import { lazy } from './lib/lazy';
import { readSettings, settings } from './lib/settings';
import { signal } from '@preact/signals';

type Page = ComponentType<{ params: Record<string, string> }>;

const ExperimentPage: Page = lazy(() => import('./pages/Experiment').then((m) => m.ExperimentPage));
const TrialPage: Page = lazy(() => import('./pages/Trial').then((m) => m.TrialPage));
const Tasks: Page = lazy(() => import('./pages/Tasks').then((m) => m.Tasks));
const TaskPage: Page = lazy(() => import('./pages/Task').then((m) => m.TaskPage));
const Models: Page = lazy(() => import('./pages/Models').then((m) => m.Models));
const ModelPage: Page = lazy(() => import('./pages/Model').then((m) => m.ModelPage));
const Cluster: Page = lazy(() => import('./pages/Cluster').then((m) => m.Cluster));
const Dashboard: Page = lazy(() => import('./pages/Dashboard').then((m) => m.Dashboard));
const NodePage: Page = lazy(() => import('./pages/Node').then((m) => m.NodePage));
const Compare: Page = lazy(() => import('./pages/Compare').then((m) => m.Compare));
const Launch: Page = lazy(() => import('./pages/Launch').then((m) => m.LaunchPage));
const ForkExperiment: Page = lazy(() => import('./pages/Fork').then((m) => m.ForkExperiment));
const ForkTrial: Page = lazy(() => import('./pages/Fork').then((m) => m.ForkTrial));
const ContinueExperiment: Page = lazy(() => import('./pages/Fork').then((m) => m.ContinueExperiment));
const Workspaces: Page = lazy(() => import('./pages/Workspaces').then((m) => m.Workspaces));
const WorkspacePage: Page = lazy(() => import('./pages/Workspaces').then((m) => m.WorkspacePage));
const ProjectPage: Page = lazy(() => import('./pages/Project').then((m) => m.ProjectPage));
const Manage: Page = lazy(() => import('./pages/manage/Manage').then((m) => m.Manage));
const Settings: Page = lazy(() => import('./pages/Settings').then((m) => m.Settings));
const Logs: Page = lazy(() => import('./pages/Logs').then((m) => m.Logs));
const Wait: Page = lazy(() => import('./pages/Wait').then((m) => m.Wait));

// The later ones are addresses that Determined's clients open.
const routes: Route<Page>[] = [
  { pattern: '/', page: Experiments },
  { pattern: '/experiments', page: Experiments },
  { pattern: '/experiments/:id/fork', page: ForkExperiment },
  { pattern: '/experiments/:id/continue', page: ContinueExperiment },
  { pattern: '/trials/:id/fork', page: ForkTrial },
  { pattern: '/launch/:kind?', page: Launch },
  { pattern: '/experiments/:id/:tab?', page: ExperimentPage },
  { pattern: '/experiments/:experiment/trials/:id/:tab?', page: TrialPage },
  { pattern: '/trials/:id/:tab?', page: TrialPage },
  { pattern: '/tasks', page: Tasks },
  { pattern: '/tasks/:id', page: TaskPage },
  { pattern: '/logs', page: Logs },
  { pattern: '/models', page: Models },
  { pattern: '/models/:id', page: ModelPage },
  { pattern: '/models/:id/versions/:version', page: ModelPage },
  { pattern: '/dashboard', page: Dashboard },
  { pattern: '/nodes/:id', page: NodePage },
  { pattern: '/compare', page: Compare },
  { pattern: '/cluster', page: Cluster },
  { pattern: '/workspaces', page: Workspaces },
  { pattern: '/workspaces/:id/:tab?', page: WorkspacePage },
  { pattern: '/projects/:id/:tab?', page: ProjectPage },
  { pattern: '/manage/:tab?/:id?', page: Manage },
  { pattern: '/settings', page: Settings },
  { pattern: '/mlflow', page: MLflowLink },
  { pattern: '/wait/:type/:id', page: Wait },
  { pattern: '/interactive/:id/:type/*', page: Wait },
  { pattern: '/clusters', page: Cluster },
  { pattern: '/admin/*', page: Manage },
  { pattern: '/settings/*', page: Settings },
];

// Links that MLflow's client prints have their place after the #: #/experiments/1/runs/2 is run 2 of project 1.
function MLflowLink() {
  useEffect(() => go(placeOfMLflow(location.hash), true), []);
  return <Loading />;
}

const unreachable = signal<unknown>(undefined);
const again = 2000;

function toLogin() {
  me.value = null;
  settings.value = undefined;
  if (path.value === '/login') return;
  const here = location.pathname + location.search + (path.value === '/mlflow' ? location.hash : '');
  go(link('/login', { next: here === '/' ? '' : here }), true);
}

async function begin() {
  try {
    master.value ??= await api.info();
    await signedIn(await api.me());
    void readSettings();
    unreachable.value = undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return; // toLogin has been called
    unreachable.value = error;
    setTimeout(begin, again);
  }
}

export function App() {
  useEffect(() => {
    onSignedOut(toLogin);
    void begin();
  }, []);
  if (path.value === '/login') return <><Login /><Toasts /></>;
  if (me.value === undefined) {
    return unreachable.value ? <div class="alone"><Problem what="Could not start the Detent application." error={unreachable.value} /></div> : <div class="alone"><Loading /></div>;
  }
  if (me.value === null) return <div class="alone"><Loading /></div>;
  const found = match(routes, path.value);
  return (
    <>
      <Shell>{found ? <found.page key={routes.findIndex((r) => r.page === found.page) + (found.params.id ?? '')} params={found.params} /> : <NotFound />}</Shell>
      <Toasts />
    </>
  );
}

function NotFound() {
  useTitle('Nothing here');
  return (
    <Empty alone title="There is no such page.">
      <p>The address may be wrong, or the object was deleted. <a href="/experiments">All experiments</a></p>
    </Empty>
  );
}
