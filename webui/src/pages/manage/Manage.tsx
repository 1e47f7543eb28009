// What is managed for everybody: users, access tokens, webhooks, templates, policies, the cluster's message.
import type { ComponentType } from 'preact';
import { lazy } from '../../lib/lazy';
import { Empty, Tabs } from '../../parts/bits';
import { me } from '../../lib/session';
import { useTitle } from '../../parts/Shell';

const parts: { key: string; title: string; admin?: boolean; part: ComponentType<{ id?: string }> }[] = [
  { key: 'users', title: 'Users', part: lazy(() => import('./Users').then((m) => m.Users)) },
  { key: 'tokens', title: 'Access tokens', part: lazy(() => import('./Tokens').then((m) => () => <m.Tokens />)) },
  { key: 'webhooks', title: 'Webhooks', part: lazy(() => import('./Webhooks').then((m) => m.Webhooks)) },
  { key: 'templates', title: 'Templates', part: lazy(() => import('./Templates').then((m) => m.Templates)) },
  { key: 'policies', title: 'Policies', part: lazy(() => import('./Policies').then((m) => () => <m.Policies may={!!me.value?.admin} />)) },
  { key: 'message', title: 'Message', admin: true, part: lazy(() => import('./Message').then((m) => m.Message)) },
];

export function Manage({ params: { tab = 'users', id } }: { params: Record<string, string> }) {
  const shown = parts.filter((p) => !p.admin || me.value?.admin);
  const at = parts.find((p) => p.key === tab);
  useTitle(at ? at.title : 'Manage');
  return (
    <div class="page full">
      <div class="head"><h1>Manage</h1></div>
      <Tabs at={tab} href={(k) => `/manage/${k}`} items={shown.map(({ key, title }) => ({ key, title }))} />
      {!at ? <Empty title="There is no such page."><p><a href="/manage/users">Users</a></p></Empty>
        : at.admin && !me.value?.admin ? <Empty title="Only administrators can do this." />
          : <at.part key={at.key} {...(id ? { id } : {})} />}
    </div>
  );
}
