// Roles: whether they are in use, where the user may assign them, and who has which role where.
import { call } from './api';
import * as wire from './types';

const clusterAdmin = 1;

export interface Rights {
  inUse: boolean; // else roles are prepared, and have no effect yet
  admin: boolean; // of the cluster
  assigns: 'everywhere' | ReadonlySet<number>; // or in these workspaces
  holds: (permission: string, workspace: number | null) => boolean; // by a role; null: in the whole cluster
}

// rightsOf: without roles in use, administrators do everything.
export function rightsOf(inUse: boolean, admin: boolean, own: wire.GetPermissionsSummaryResponse | null): Rights {
  if (!inUse || !own) return { inUse, admin, assigns: admin ? 'everywhere' : new Set(), holds: () => admin };
  const list = own.assignments ?? [];
  const allow = (permission: string) => {
    const roles = new Set(own.roles.filter((r) => r.permissions.some((p) => p.id === `PERMISSION_TYPE_${permission}`)).map((r) => r.roleId));
    return list.filter((a) => roles.has(a.roleId));
  };
  const assigning = allow('ASSIGN_ROLES');
  return {
    inUse, admin: list.some((a) => a.roleId === clusterAdmin && a.scopeCluster),
    assigns: assigning.some((a) => a.scopeCluster) ? 'everywhere' : new Set(assigning.flatMap((a) => a.scopeWorkspaceIds ?? [])),
    holds: (permission, workspace) => allow(permission).some((a) => a.scopeCluster || (workspace !== null && !!a.scopeWorkspaceIds?.includes(workspace))),
  };
}

export async function rights(admin: boolean, signal?: AbortSignal): Promise<Rights> {
  const { rbacEnabled } = await call(wire.getMaster, { signal });
  return rightsOf(rbacEnabled, admin, rbacEnabled ? await call(wire.getPermissionsSummary, { signal }) : null);
}

export const mayAssign = (r: Rights, workspace: number | null): boolean =>
  workspace === null ? r.admin : r.assigns === 'everywhere' || r.assigns.has(workspace);

// Nothing of roles is shown to somebody for whom there are none.
export const seesRoles = (r: Rights): boolean => r.inUse || r.admin;

// A Holding is a role of a user or of a group, somewhere.
export interface Holding {
  key: string;
  user: number | null;
  group: number | null;
  who: string;
  role: number;
  roleName: string;
  workspace: number | null; // null: in the whole cluster
  where: string;
}

export interface Names {
  users: readonly Pick<wire.User, 'id' | 'username'>[];
  groups: readonly wire.Group[];
  workspaces: readonly Pick<wire.Workspace, 'id' | 'name'>[];
}

export const wholeCluster = 'the whole cluster';

// holdings are the assignments of roles, one after the other. Somebody whose name is not known has a number.
export function holdings(list: readonly wire.RoleWithAssignments[], names: Names): Holding[] {
  const users = new Map(names.users.map((u) => [u.id, u.username]));
  const groups = new Map(names.groups.map((g) => [g.groupId, g.name]));
  const workspaces = new Map(names.workspaces.map((w) => [w.id, w.name]));
  const out: Holding[] = [];
  for (const { role, userRoleAssignments, groupRoleAssignments } of list) {
    if (!role) continue;
    const add = (user: number | null, group: number | null, who: string, a: wire.RoleAssignment) => {
      const workspace = a.scopeWorkspaceId;
      out.push({
        key: `${user === null ? `g${group}` : `u${user}`}.${role.roleId}.${workspace ?? ''}`, user, group, who, role: role.roleId, roleName: role.name, workspace,
        where: workspace === null ? wholeCluster : workspaces.get(workspace) ?? `workspace ${workspace}`,
      });
    };
    for (const x of userRoleAssignments ?? []) add(x.userId, null, users.get(x.userId) ?? `user ${x.userId}`, x.roleAssignment);
    for (const x of groupRoleAssignments ?? []) add(null, x.groupId, groups.get(x.groupId) ?? `group ${x.groupId}`, x.roleAssignment);
  }
  return out;
}

// assignment is the body of a request that assigns a role or takes it away.
export function assignment(h: Pick<Holding, 'user' | 'group' | 'role' | 'workspace'>): wire.AssignRolesRequest {
  const role = { roleId: h.role } as wire.Role; // requests name a role by its id alone
  const roleAssignment = { role, scopeWorkspaceId: h.workspace, scopeCluster: h.workspace === null };
  return h.user === null ? { groupRoleAssignments: [{ groupId: h.group!, roleAssignment }] } : { userRoleAssignments: [{ userId: h.user, roleAssignment }] };
}

// idOf finds somebody by name, as names are compared in the cluster: those of users without regard to case.
export function idOf(kind: 'user' | 'group', name: string, names: Pick<Names, 'users' | 'groups'>): number {
  const id = kind === 'user' ? names.users.find((u) => u.username === name.toLowerCase())?.id : names.groups.find((g) => g.name === name)?.groupId;
  if (id === undefined) throw new Error(name ? `There is no ${kind} ${name}.` : `Name a ${kind}.`);
  return id;
}

// idsOf finds several users by their names.
export const idsOf = (list: readonly string[], users: Names['users']): number[] => [...new Set(list.map((name) => idOf('user', name, { users, groups: [] })))];

// permission is what a permission allows, in words: view workspace.
export const permission = (p: wire.Permission): string => p.name || p.id.replace('PERMISSION_TYPE_', '').toLowerCase().replaceAll('_', ' ');

// from says where a group comes from, if it is not of this cluster.
export function from(origin: string): string {
  return origin.startsWith('oidc:') ? `the identity provider ${origin.slice(5)}` : origin;
}

// boundTo are the names of workspaces, as far as the user sees them.
export function boundTo(ids: readonly number[], workspaces: Names['workspaces']): { id: number; name: string }[] {
  return ids.map((id) => ({ id, name: workspaces.find((w) => w.id === id)?.name ?? `workspace ${id}` })).sort((a, b) => a.name.localeCompare(b.name));
}
