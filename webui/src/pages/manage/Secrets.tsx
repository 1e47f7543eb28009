// Secrets that the user may mount in tasks. Their values are in Vault, and neither the master nor this page knows them.
import { useMemo } from 'preact/hooks';
import { useLoad } from '../../lib/load';
import { manage } from '../../lib/manage';
import { sectionOf } from '../../lib/secrets';
import type { UserSecret } from '../../lib/types';
import { Copy, Empty, Loading, Problem } from '../../parts/bits';
import { me } from '../../lib/session';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

const keysOf = (s: UserSecret) => (s.keys.length ? s.keys.join(', ') : 'all');
const workspacesOf = (s: UserSecret) => (s.everywhere ? 'all' : s.workspaces.join(', '));

const columns: Column<UserSecret>[] = [
  { key: 'name', title: 'Secret', width: 'minmax(9rem, 2fr)', narrow: true, sort: (s) => s.name, render: (s) => <span class="cut mono" title={s.name}>{s.name}</span> },
  { key: 'keys', title: 'Keys', width: 'minmax(8rem, 2fr)', sort: keysOf, render: (s) => <span class={s.keys.length ? 'cut mono' : 'faint'} title={keysOf(s)}>{keysOf(s)}</span> },
  { key: 'workspaces', title: 'Workspaces', width: 'minmax(8rem, 2fr)', narrow: true, sort: workspacesOf, render: (s) => <span class={s.everywhere ? 'faint' : 'cut'} title={workspacesOf(s)}>{workspacesOf(s)}</span> },
  { key: 'do', title: ' ', width: '6rem', narrow: true, render: (s) => <span class="row end"><Copy text={sectionOf(s)} what={`the section that mounts ${s.name}`} /></span> },
];

export function Secrets() {
  const secrets = useLoad((signal) => manage.secrets(signal), []);
  const sort = sortOf({ key: 'name', desc: false });
  const rows = useMemo(() => sorted(secrets.data ?? [], columns, sort), [secrets.data, sort.key, sort.desc]);
  return (
    <>
      {secrets.error !== undefined && <Problem what="Could not load the secrets." error={secrets.error} retry={secrets.reload} />}
      <Table<UserSecret> label="secrets" columns={columns} count={rows.length} row={(i) => rows[i]} id={(s) => s.name} sort={sort}
        tools={<p class="lead">Your experiments and tasks can mount these. Copy the section into a configuration; the program finds the values in its environment variables.</p>}
        empty={!secrets.data ? (secrets.error ? null : <Loading />) : (
          <Empty title="No secret is offered to you.">
            <p>{me.value?.admin ? <>Operators keep secrets in Vault, and offer them with <code>vault.secrets</code> in the configuration of the masters.</> : 'Operators offer secrets, such as tokens of other services, to workspaces and users.'}</p>
          </Empty>
        )} />
    </>
  );
}
