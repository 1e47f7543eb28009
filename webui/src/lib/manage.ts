// Requests of the pages that manage: workspaces, projects, users, tokens, webhooks, templates.
// Only those pages load this.
import * as wire from './types';
import { api, call, request, whole } from './api';
import { templates } from './do';
import { complain, say } from './toast';

const many = { limit: 1000 };

// maxDeliveries is how many events of a webhook one request loads.
export const maxDeliveries = 100;

// A warning of the master about one of its settings.
export interface Warning {
  setting: string;
  warning: string;
}

export const manage = {
  workspaces: api.workspaces,
  workspace: async (id: number, signal?: AbortSignal) => (await call(wire.getWorkspace, { path: [id], signal })).workspace,
  createWorkspace: async (body: wire.PostWorkspaceRequest) => (await call(wire.createWorkspace, { body })).workspace,
  changeWorkspace: (id: number, body: wire.PatchWorkspace) => call(wire.changeWorkspace, { path: [id], body }),
  archiveWorkspace: (id: number, on: boolean) => call(on ? wire.archiveWorkspace : wire.unarchiveWorkspace, { path: [id] }),
  pinWorkspace: (id: number, on: boolean) => call(on ? wire.pinWorkspace : wire.unpinWorkspace, { path: [id] }),
  deleteWorkspace: (id: number) => call(wire.deleteWorkspace, { path: [id] }),

  projects: (workspace: number, signal?: AbortSignal) => whole(async (query) => { const { projects: rows, pagination } = await call(wire.listProjects, { path: [workspace], query, signal }); return { rows, pagination }; }),
  project: async (id: number, signal?: AbortSignal) => (await call(wire.getProject, { path: [id], signal })).project,
  createProject: async (body: wire.PostProjectRequest) => (await call(wire.createProject, { path: [body.workspaceId], body })).project,
  changeProject: (id: number, body: wire.PatchProject) => call(wire.changeProject, { path: [id], body }),
  archiveProject: (id: number, on: boolean) => call(on ? wire.archiveProject : wire.unarchiveProject, { path: [id] }),
  moveProject: (id: number, to: number) => call(wire.moveProject, { path: [id], body: { projectId: id, destinationWorkspaceId: to } }),
  deleteProject: (id: number) => call(wire.deleteProject, { path: [id] }),
  setNotes: (id: number, notes: wire.Note[]) => call(wire.setProjectNotes, { path: [id], body: { projectId: id, notes } }),

  users: async (signal?: AbortSignal) => (await call(wire.listUsers, { query: many, signal })).users,
  createUser: (body: wire.PostUserRequest) => call(wire.createUser, { body }),
  changeUser: (id: number, body: wire.PatchUser) => call(wire.changeUser, { path: [id], body }),
  activate: async (userIds: number[], activate: boolean) => (await call(wire.changeUsers, { body: { userIds, activate } })).results,

  tokens: async (showInactive: boolean, signal?: AbortSignal) => (await call(wire.listTokens, { query: { ...many, showInactive }, signal })).tokenInfo,
  createToken: (body: wire.PostAccessTokenRequest) => call(wire.createToken, { body }),
  revoke: (id: number) => call(wire.changeToken, { path: [id], body: { tokenId: id, setRevoked: true } }),

  secrets: async (signal?: AbortSignal) => (await call(wire.listUserSecrets, { query: many, signal })).secrets,

  webhooks: async (signal?: AbortSignal) => (await call(wire.listWebhooks, { signal })).webhooks,
  createWebhook: async (body: wire.Webhook) => (await call(wire.createWebhook, { body })).webhook,
  changeWebhook: (id: number, url: string) => call(wire.changeWebhook, { path: [id], body: { url } }),
  deleteWebhook: (id: number) => call(wire.deleteWebhook, { path: [id] }),
  testWebhook: (id: number) => call(wire.testWebhook, { path: [id] }),
  deliveries: async (id: number, before: string, signal?: AbortSignal) => (await call(wire.listWebhookDeliveries, { path: [id], query: { before, limit: maxDeliveries }, signal })).deliveries,
  redeliver: (id: number, delivery: string) => call(wire.redeliverWebhook, { path: [id, delivery] }),

  templates,
  putTemplate: (name: string, body: wire.Template) => call(wire.putTemplate, { path: [name], body }),
  createTemplate: (name: string, body: wire.Template) => call(wire.createTemplate, { path: [name], body }),
  renameTemplate: (oldName: string, newName: string) => call(wire.renameTemplate, { body: { oldName, newName } }),
  deleteTemplate: (name: string) => call(wire.deleteTemplate, { path: [name] }),

  // Policies of the cluster, or of a workspace, for EXPERIMENT or NTSC.
  policies: async (workload: string, workspace: number | undefined, signal?: AbortSignal) =>
    (workspace === undefined ? await call(wire.getGlobalConfigPolicies, { path: [workload], signal }) : await call(wire.getWorkspaceConfigPolicies, { path: [workspace, workload], signal })).configPolicies ?? {},
  setPolicies: async (workload: string, workspace: number | undefined, configPolicies: string): Promise<unknown> => {
    const body = { workloadType: workload, configPolicies };
    if (workspace === undefined) return call(wire.putGlobalConfigPolicies, { path: [workload], body });
    return call(wire.putWorkspaceConfigPolicies, { path: [workspace, workload], body: { ...body, workspaceId: workspace } });
  },
  removePolicies: async (workload: string, workspace: number | undefined): Promise<unknown> =>
    (workspace === undefined ? call(wire.deleteGlobalConfigPolicies, { path: [workload] }) : call(wire.deleteWorkspaceConfigPolicies, { path: [workspace, workload] })),

  sessions: async (signal?: AbortSignal) => (await call(wire.listSessions, { query: many, signal })).sessions,
  endSession: (id: number) => call(wire.endSession, { path: [id] }),

  groups: async (signal?: AbortSignal) => (await call(wire.listGroups, { body: { limit: 500 }, signal })).groups ?? [],
  group: async (id: number, signal?: AbortSignal) => (await call(wire.getGroup, { path: [id], signal })).group,
  createGroup: async (body: wire.CreateGroupRequest) => (await call(wire.createGroup, { body })).group,
  changeGroup: (body: wire.UpdateGroupRequest) => call(wire.updateGroup, { path: [body.groupId], body }),
  deleteGroup: (id: number) => call(wire.deleteGroup, { path: [id] }),

  roles: async (signal?: AbortSignal) => (await call(wire.listRoles, { body: { limit: 500 }, signal })).roles ?? [],
  // holders are all roles with those who have them, as far as the user may see that.
  holders: async (roleIds: number[], signal?: AbortSignal) => (await call(wire.getRolesByID, { body: { roleIds }, signal })).roles ?? [],
  members: (workspace: number, signal?: AbortSignal) => call(wire.listWorkspaceMembers, { path: [workspace], signal }),
  assign: (body: wire.AssignRolesRequest) => call(wire.assignRoles, { body }),
  unassign: (body: wire.RemoveAssignmentsRequest) => call(wire.removeAssignments, { body }),

  boundWorkspaces: async (pool: string, signal?: AbortSignal) => (await call(wire.listPoolWorkspaces, { path: [pool], query: many, signal })).workspaceIds ?? [],
  // bind binds a pool to exactly these workspaces; without any the pool is open to all.
  bind: (pool: string, workspaceIds: number[]) => call(wire.replacePoolBindings, { path: [pool], body: { resourcePoolName: pool, workspaceIds } }),
  poolsOf: async (workspace: number, signal?: AbortSignal) => (await call(wire.listWorkspacePools, { path: [workspace], query: many, signal })).resourcePools ?? [],

  // /health has them for administrators only, and none where no setting weakens security.
  warnings: async (signal?: AbortSignal): Promise<Warning[]> => {
    const health = (await (await request('/health', signal ? { signal } : {})).json()) as { warnings?: Warning[] };
    return health.warnings ?? [];
  },

  message: async (signal?: AbortSignal) => (await call(wire.getClusterMessage, { signal })).clusterMessage,
  setMessage: (body: wire.SetClusterMessageRequest) => call(wire.setClusterMessage, { body }),
  removeMessage: () => call(wire.deleteClusterMessage),
};

// attempt runs a request and shows its result; it returns true on success.
export async function attempt(what: string, act: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await act();
    say(done);
    return true;
  } catch (error) {
    complain(what, error);
    return false;
  }
}
