// The link from a trial to its run in W&B.

// The address of the run: the configuration says where runs are, and the id of a run is that of the trial's task. undefined without a
// section integrations.wandb that names both entity and project, and for an address that is none of the web.
export function runInWandB(config: Record<string, any> | undefined, task: string): string | undefined {
  const section = config?.integrations?.wandb;
  const { entity, project } = section ?? {};
  if (typeof entity !== 'string' || typeof project !== 'string' || !entity || !project || !task) return undefined;
  const base = String(section.base_url || 'https://wandb.ai').replace(/\/+$/, '');
  if (!/^https?:\/\/[^/]/i.test(base)) return undefined;
  return `${base}/${[entity, project, 'runs', task].map(encodeURIComponent).join('/')}`;
}
