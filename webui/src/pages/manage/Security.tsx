// What weakens the security of this installation: the settings of which the master warns when it starts.
import { manage } from '../../lib/manage';
import { useLoad } from '../../lib/load';
import { Empty, Loading, Problem } from '../../parts/bits';

export function Security() {
  const loaded = useLoad((signal) => manage.warnings(signal), []);
  if (loaded.error !== undefined) return <Problem what="Could not load the warnings." error={loaded.error} retry={loaded.reload} />;
  if (!loaded.data) return <Loading />;
  if (loaded.data.length === 0) return <Empty title="No setting is known to weaken security."><p>The master checks ten settings when it starts.</p></Empty>;
  return (
    <>
      <p>These settings weaken the security of this installation, the most important first. The master checks them when it starts.</p>
      <ol aria-label="security warnings">
        {loaded.data.map((w) => <li key={w.setting}><code>{w.setting}</code><p>{w.warning}.</p></li>)}
      </ol>
    </>
  );
}
