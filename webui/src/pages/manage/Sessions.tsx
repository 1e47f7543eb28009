// Where the user is signed in.
import { useMemo, useState } from 'preact/hooks';
import { ago, clock } from '../../lib/format';
import { useLoad, useNow } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { program, until } from '../../lib/sessions';
import type { Session } from '../../lib/types';
import { Confirm, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

export function Sessions() {
  const now = useNow();
  const sessions = useLoad((signal) => manage.sessions(signal), []);
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'used', desc: true }, 'sessions.sort');
  const end = (list: Session[]) => setQuestion({
    title: list.length === 1 ? `End the sign-in from ${list[0]!.address || 'an unknown address'}?` : `End all ${list.length} other sign-ins?`,
    text: 'The browser or program there has to sign in again. What runs on the cluster continues.', yes: list.length === 1 ? 'End it' : 'End all others', danger: true,
    act: async () => {
      await attempt('End a sign-in', async () => {
        for (const s of list) await manage.endSession(s.id);
      }, list.length === 1 ? 'The sign-in has ended' : 'All other sign-ins have ended');
      sessions.reload();
    },
  });
  const columns: Column<Session>[] = [
    { key: 'agent', title: 'With', width: 'minmax(9rem, 2fr)', narrow: true, render: (s) => <span class="cut" title={s.agent}>{program(s.agent)}{s.current && <span class="tag">this one</span>}</span> },
    { key: 'address', title: 'From', width: 'minmax(7rem, 1fr)', render: (s) => <span class="cut num" title={s.address}>{s.address || <span class="faint">unknown</span>}</span> },
    { key: 'provider', title: 'Signed in with', width: 'minmax(7rem, 1fr)', render: (s) => <span class="cut" title={s.provider}>{s.provider || 'a password'}</span> },
    { key: 'created', title: 'Since', width: '6.5rem', render: (s) => <span title={clock(s.createdAt)}>{ago(s.createdAt, now)}</span> },
    { key: 'used', title: 'Last used', width: '6.5rem', narrow: true, render: (s) => (s.lastUsedAt ? <span title={`${clock(s.lastUsedAt)}, to the hour`}>{ago(s.lastUsedAt, now)}</span> : <span class="faint">–</span>) },
    { key: 'expires', title: 'Ends', width: '6.5rem', render: (s) => <span title={clock(s.expiresAt)}>{until(s.expiresAt, now)}</span> },
    { key: 'do', title: ' ', width: '5.5rem', narrow: true, render: (s) => <span class="row end">{!s.current && <button type="button" class="quiet" aria-label={`end sign-in ${s.id}`} onClick={() => end([s])}>End</button>}</span> },
  ];
  const rows = useMemo(() => sorted(sessions.data ?? [], [{ key: 'used', title: '', width: '', render: () => null, sort: (s: Session) => `${s.current ? 1 : 0}${s.lastUsedAt ?? s.createdAt ?? ''}` }], sort), [sessions.data, sort.key, sort.desc]);
  const others = rows.filter((s) => !s.current);
  return (
    <>
      {sessions.error !== undefined && <Problem what="Could not load your sign-ins." error={sessions.error} retry={sessions.reload} />}
      <Table<Session> label="sign-ins" columns={columns} count={rows.length} row={(i) => rows[i]} id={(s) => String(s.id)} sort={sort} prefix="sessions." fit marked={(s) => s.current}
        tools={others.length > 1 && <button type="button" class="danger" onClick={() => end(others)}>End all others</button>}
        empty={!sessions.data ? (sessions.error ? null : <Loading />) : <Empty title="No sign-in."><p>Access tokens are below.</p></Empty>} />
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}
