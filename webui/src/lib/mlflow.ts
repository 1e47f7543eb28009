// The links that MLflow's client prints.

// The page that a link of MLflow's means, by what is after its #.
export function placeOfMLflow(hash: string): string {
  const place = hash.replace(/^#/, '').split('?')[0] ?? '';
  const run = /^\/experiments\/\d+\/runs\/(\d+)/.exec(place);
  if (run) return `/trials/${run[1]}`;
  const experiment = /^\/experiments\/(\d+)/.exec(place);
  if (experiment) return `/projects/${experiment[1]}`;
  const model = /^\/models\/([^/]+)/.exec(place);
  if (model) return `/models/${model[1]}`;
  return '/experiments';
}
