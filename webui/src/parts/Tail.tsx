// The last lines of a log, below the reason why it failed.
import Anser from 'anser';
import { useLoad } from '../lib/load';
import { read, type Line } from '../lib/logs';

const most = 8;

export function Tail({ log }: { log: string }) {
  const loaded = useLoad(async (signal) => {
    const list: Line[] = [];
    await read(log, { orderBy: 'ORDER_BY_DESC', limit: most }, signal, (lot) => list.push(...lot));
    return list.sort((a, b) => a.n - b.n);
  }, [log]);
  if (!loaded.data?.length) return null;
  return <pre class="tail" role="group" aria-label="the end of its log" tabIndex={0}>{loaded.data.map((l) => Anser.ansiToText(l.text)).join('\n')}</pre>;
}
