// What a newcomer types on an empty cluster: three commands, and what they do.
import { Copy, Empty } from './bits';

export function Welcome() {
  const here = location.origin;
  const steps: [string, string][] = [
    [`export DET_MASTER=${here}`, 'The address of this cluster, for det and for Python.'],
    ['det user login', 'Sign in, once.'],
    ['det experiment create config.yaml . --follow', 'Submit a folder with code and its configuration, and follow its log.'],
  ];
  return (
    <Empty title="No experiments yet.">
      <p>Three commands submit the first one:</p>
      <ol class="steps">{steps.map(([command, what]) => <li key={command}><code>{command}</code> <Copy text={command} what="command" /><p class="faint small">{what}</p></li>)}</ol>
    </Empty>
  );
}
