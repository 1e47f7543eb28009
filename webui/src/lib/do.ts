// Requests that start, change and move experiments and tasks. Only the pages that need them load this file.
import * as wire from './types';
import { call, whole, type AnyKind } from './api';
import { write, type Draft } from './draft';
import type { Act } from './api';

export interface Launch {
  config: Draft;
  template?: string;
  workspace?: number;
  experiments?: number[];
  trials?: number[];
  files?: wire.File[];
  project?: number; // the next are of generic tasks
  parent?: string;
  inherit?: boolean; // it has the code of its parent
  noPause?: boolean;
}

export interface Checked {
  config: Record<string, any>;
  remarks: string[];
  warnings: string[];
}

// launch starts a task, or asks the master for a preview of it.
export async function launch(kind: AnyKind, w: Launch, preview: boolean, signal?: AbortSignal): Promise<Checked & { id: string }> {
  const body = {
    config: w.config, preview,
    ...(w.template ? { templateName: w.template } : {}),
    ...(w.workspace ? { workspaceId: w.workspace } : {}),
    ...(w.files?.length && !preview ? { files: w.files } : {}),
  };
  switch (kind) {
    case 'notebooks': {
      const r = await call(wire.createNotebook, { body, signal });
      return { ...r, id: r.notebook.id };
    }
    case 'shells': {
      const r = await call(wire.createShell, { body, signal });
      return { ...r, id: r.shell.id };
    }
    case 'commands': {
      const r = await call(wire.createCommand, { body, signal });
      return { ...r, id: r.command.id };
    }
    case 'generics': {
      const r = await call(wire.createGenericTask, { body: generic(w, preview), signal });
      return { ...r, id: r.taskId };
    }
    case 'tensorboards': {
      const r = await call(wire.createTensorboard, { body: { ...body, experimentIds: w.experiments ?? [], trialIds: w.trials ?? [] }, signal });
      return { ...r, id: r.tensorboard.id };
    }
  }
}

// generic is the request for a generic task. Its configuration travels as YAML.
export const generic = (w: Launch, preview: boolean): wire.CreateGenericTaskRequest => ({
  config: write(w.config), contextDirectory: preview ? [] : w.files ?? [], preview,
  ...(w.project ? { projectId: w.project } : {}),
  ...(w.parent ? { parentId: w.parent } : {}),
  ...(w.parent && w.inherit && !w.files?.length ? { inheritContext: true } : {}),
  ...(w.noPause ? { noPause: true } : {}),
});

export const submit = (body: wire.CreateExperimentRequest, signal?: AbortSignal) => call(wire.createExperiment, { body, signal });
export const proceed = (body: wire.ContinueExperimentRequest) => call(wire.continueExperiment, { body });
export const change = (body: wire.PatchExperiment) => call(wire.changeExperiment, { path: [body.id], body });

const bulk: Record<Act | 'delete', wire.Endpoint<wire.BulkRequest, wire.BulkResponse>> = {
  pause: wire.pauseExperiments, activate: wire.activateExperiments, cancel: wire.cancelExperiments, kill: wire.killExperiments,
  archive: wire.archiveExperiments, unarchive: wire.unarchiveExperiments, delete: wire.deleteExperiments,
};
const lot = 500;

interface Which {
  id: number;
  projectId: number;
}

// each sends requests about experiments, in parts for each project, and collects the results.
async function each(list: readonly Which[], one: (project: number, ids: number[]) => Promise<wire.BulkResponse>): Promise<wire.BulkResult[]> {
  const results: wire.BulkResult[] = [];
  for (const project of new Set(list.map((e) => e.projectId))) {
    const of = list.filter((e) => e.projectId === project);
    for (let i = 0; i < of.length; i += lot) results.push(...(await one(project, of.slice(i, i + lot).map((e) => e.id))).results);
  }
  return results;
}

export const actOn = (verb: Act | 'delete', list: readonly Which[]) =>
  each(list, (projectId, experimentIds) => call(bulk[verb], { path: [projectId], body: { projectId, experimentIds } }));

export const move = (list: readonly Which[], to: number) =>
  each(list, (projectId, experimentIds) => call(wire.moveExperiments, { path: [projectId], body: { projectId, experimentIds, destinationProjectId: to } }));

export const changeQueue = (updates: wire.QueueControl[]) => call(wire.changeJobs, { body: { updates } });

export const templates = (signal?: AbortSignal) => whole(async (query) => { const { templates: rows, pagination } = await call(wire.listTemplates, { query, signal }); return { rows, pagination }; });

// projects returns all projects of all workspaces that the user may see.
export const projects = (signal?: AbortSignal) => whole(async (query) => { const { projects: rows, pagination } = await call(wire.listProjects, { path: [0], query: { ...query, archived: false }, signal }); return { rows, pagination }; });
