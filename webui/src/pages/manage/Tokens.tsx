// Access tokens: for programs that act as a user.
import { useMemo, useState } from 'preact/hooks';
import { ago, clock } from '../../lib/format';
import { useLoad, useNow } from '../../lib/load';
import { attempt, manage } from '../../lib/manage';
import { params, setParams } from '../../lib/router';
import type { TokenInfo } from '../../lib/types';
import { Confirm, Copy, Empty, Loading, Problem, type Question } from '../../parts/bits';
import { Dialog, text } from '../../parts/Dialog';
import { me } from '../../lib/session';
import { sorted, sortOf, Table, type Column } from '../../parts/Table';

const lives: [string, string][] = [['', 'as usual here'], ['168h', '7 days'], ['720h', '30 days'], ['2160h', '90 days'], ['8760h', 'a year'], ['-1', 'without end']];

// until says when a token stops working.
function until(t: TokenInfo, now: number): string {
  if (!t.expiry) return 'never';
  const days = Math.ceil((Date.parse(t.expiry) - now) / 86_400_000);
  return days <= 0 ? 'over' : days === 1 ? 'within a day' : `in ${days} days`;
}

export function Tokens({ mine }: { mine?: boolean }) {
  const now = useNow();
  const ended = params.value.get('ended') === '1';
  const tokens = useLoad((signal) => manage.tokens(ended, signal), [ended]);
  const users = useLoad((signal) => manage.users(signal), []);
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState('');
  const [question, setQuestion] = useState<Question | null>(null);
  const sort = sortOf({ key: 'created', desc: true });
  const own = mine || !me.value?.admin;
  const nameOf = (id: number) => users.data?.find((u) => u.id === id)?.username ?? String(id);
  const over = (t: TokenInfo) => t.revoked || (t.expiry !== null && Date.parse(t.expiry) < now);
  const revoke = (t: TokenInfo) => setQuestion({
    title: `Revoke token ${t.id}?`, text: 'Programs that use it are rejected from now on. It cannot be given back.', yes: 'Revoke', danger: true,
    act: async () => {
      await attempt(`Revoke token ${t.id}`, () => manage.revoke(t.id), `Token ${t.id} revoked`);
      tokens.reload();
    },
  });
  const columns: Column<TokenInfo>[] = [
    { key: 'description', title: 'For', width: 'minmax(9rem, 3fr)', narrow: true, sort: (t) => t.description, render: (t) => <span class="cut" title={t.description}>{t.description || <span class="faint">without a description</span>}</span> },
    ...(own ? [] : [{ key: 'user', title: 'User', width: '8rem', sort: (t: TokenInfo) => nameOf(t.userId), render: (t: TokenInfo) => <span class="cut">{nameOf(t.userId)}</span> }]),
    { key: 'may', title: 'Rights', width: '7.5rem', narrow: true, sort: (t) => String(t.readOnly), render: (t) => (over(t) ? <span class="state off">{t.revoked ? 'revoked' : 'expired'}</span> : t.readOnly ? <span class="state wait">only read</span> : <span class="state good">everything</span>) },
    { key: 'expiry', title: 'Ends', width: '7rem', sort: (t) => t.expiry ?? '9', render: (t) => <span title={clock(t.expiry)}>{until(t, now)}</span> },
    { key: 'used', title: 'Last used', width: '7rem', sort: (t) => t.lastUsedAt ?? '', render: (t) => (t.lastUsedAt ? <span title={clock(t.lastUsedAt)}>{ago(t.lastUsedAt, now)}</span> : <span class="faint">never</span>) },
    { key: 'created', title: 'Created', width: '7rem', sort: (t) => t.createdAt ?? '', render: (t) => <span title={clock(t.createdAt)}>{ago(t.createdAt, now)}</span> },
    { key: 'id', title: 'ID', width: '4rem', right: true, hidden: true, sort: (t) => t.id, render: (t) => <span class="num">{t.id}</span> },
    { key: 'do', title: ' ', width: '6rem', narrow: true, render: (t) => <span class="row end">{!over(t) && <button type="button" class="quiet" aria-label={`revoke token ${t.id}`} onClick={() => revoke(t)}>Revoke</button>}</span> },
  ];
  const rows = useMemo(() => sorted((tokens.data ?? []).filter((t) => !mine || t.userId === me.value?.id), columns, sort), [tokens.data, users.data, sort.key, sort.desc, now]);
  const make = async (form: FormData) => {
    const answer = await manage.createToken({ userId: Number(text(form, 'user')) || (me.value?.id ?? 0), lifespan: text(form, 'life'), description: text(form, 'description'), readOnly: form.has('read') });
    setMade(answer.token);
    tokens.reload();
  };
  return (
    <>
      {tokens.error !== undefined && <Problem what="Could not load the access tokens." error={tokens.error} retry={tokens.reload} />}
      {made && (
        <div class="notice wait" role="status">
          <div class="row"><strong>The new token</strong><span class="grow" /><Copy text={made} what="token" /><button type="button" class="quiet" onClick={() => setMade('')}>Done</button></div>
          <p><code class="token">{made}</code></p>
          <p class="small">It is shown only now. Keep it where nobody else reads it.</p>
        </div>
      )}
      <Table<TokenInfo> label="access tokens" columns={columns} count={rows.length} row={(i) => rows[i]} id={(t) => String(t.id)} sort={sort} fit={!!mine}
        tools={
          <>
            <button type="button" class="main" onClick={() => setMaking(true)}>New token</button>
            <label class="choice"><input type="checkbox" checked={ended} onChange={() => setParams({ ended: ended ? '' : 1 })} /> revoked and expired too</label>
          </>
        }
        empty={!tokens.data ? (tokens.error ? null : <Loading />) : <Empty title="No access token."><p>A program signs in with one, in place of a password.</p></Empty>} />
      <Dialog title="New access token" open={making} yes="Create" close={() => setMaking(false)} act={make}>
        <label>What it is for<input name="description" maxLength={200} autocomplete="off" placeholder="nightly training" /></label>
        <label>It works for<select name="life">{lives.map(([v, t]) => <option key={v} value={v}>{t}</option>)}</select></label>
        {!own && <label>It acts as<select name="user">{(users.data ?? []).filter((u) => u.active).map((u) => <option key={u.id} value={u.id} selected={u.id === me.value?.id}>{u.username}</option>)}</select></label>}
        <label class="choice"><input type="checkbox" name="read" /> it may only read</label>
      </Dialog>
      <Confirm question={question} close={() => setQuestion(null)} />
    </>
  );
}
