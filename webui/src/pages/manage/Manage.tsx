// What is managed for everybody: users, groups, roles, access tokens, secrets, webhooks, templates, policies, pools, reservations, quotas, the
// cluster's message; the audit trail, warnings of security, and usage.
import type { ComponentType } from 'preact';
import { lazy } from '../../lib/lazy';
import { useLoad } from '../../lib/load';
import { rights as readRights, seesRoles, type Rights } from '../../lib/rights';
import { Empty, Loading, Problem, Tabs } from '../../parts/bits';
import { me } from '../../lib/session';
import { useTitle } from '../../parts/Shell';

interface Part {
  key: string;
  title: string;
  admin?: boolean; // only for administrators
  part?: ComponentType<{ id?: string }>;
  ofRoles?: ComponentType<{ id?: string; rights: Rights }>; // only where there are roles
}

const parts: Part[] = [
  { key: 'users', title: 'Users', part: lazy(() => import('./Users').then((m) => m.Users)) },
  { key: 'groups', title: 'Groups', ofRoles: lazy(() => import('./Groups').then((m) => m.Groups)) },
  { key: 'roles', title: 'Roles', ofRoles: lazy(() => import('./Roles').then((m) => m.Roles)) },
  { key: 'tokens', title: 'Access tokens', part: lazy(() => import('./Tokens').then((m) => () => <m.Tokens />)) },
  { key: 'secrets', title: 'Secrets', part: lazy(() => import('./Secrets').then((m) => m.Secrets)) },
  { key: 'webhooks', title: 'Webhooks', part: lazy(() => import('./Webhooks').then((m) => m.Webhooks)) },
  { key: 'templates', title: 'Templates', part: lazy(() => import('./Templates').then((m) => m.Templates)) },
  { key: 'policies', title: 'Policies', part: lazy(() => import('./Policies').then((m) => () => <m.Policies may={!!me.value?.admin} />)) },
  { key: 'pools', title: 'Pools', admin: true, part: lazy(() => import('./Pools').then((m) => m.Pools)) },
  { key: 'reservations', title: 'Reservations', part: lazy(() => import('./Reservations').then((m) => m.Reservations)) },
  { key: 'quotas', title: 'Quotas', part: lazy(() => import('./Quotas').then((m) => m.Quotas)) },
  { key: 'usage', title: 'Usage', part: lazy(() => import('./Usage').then((m) => m.Usage)) },
  { key: 'audit', title: 'Audit trail', admin: true, part: lazy(() => import('./Audit').then((m) => m.Audit)) },
  { key: 'security', title: 'Security', admin: true, part: lazy(() => import('./Security').then((m) => m.Security)) },
  { key: 'message', title: 'Message', admin: true, part: lazy(() => import('./Message').then((m) => m.Message)) },
];

export function Manage({ params: { tab = 'users', id } }: { params: Record<string, string> }) {
  const admin = !!me.value?.admin;
  const rights = useLoad((signal) => readRights(admin, signal), [admin]);
  const roles = !!rights.data && seesRoles(rights.data);
  const shown = parts.filter((p) => (!p.admin || admin) && (!p.ofRoles || roles || (admin && !rights.data)));
  const at = parts.find((p) => p.key === tab);
  useTitle(at ? at.title : 'Manage');
  const of = id ? { id } : {};
  return (
    <div class="page full">
      <div class="head"><h1>Manage</h1></div>
      <Tabs at={tab} href={(k) => `/manage/${k}`} items={shown.map(({ key, title }) => ({ key, title }))} />
      {!at ? <Empty title="There is no such page."><p><a href="/manage/users">Users</a></p></Empty>
        : at.admin && !admin ? <Empty title="Only administrators can do this." />
          : at.part ? <at.part key={at.key} {...of} />
            : !rights.data ? (rights.error ? <Problem what="Could not load what you may do." error={rights.error} retry={rights.reload} /> : <Loading />)
              : !roles || !at.ofRoles ? <Empty title="Roles are not in use on this cluster."><p>All users see everything. Only its owner and administrators can change an object.</p></Empty>
                : <at.ofRoles key={at.key} {...of} rights={rights.data} />}
    </div>
  );
}
