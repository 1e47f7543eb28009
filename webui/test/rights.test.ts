import { describe, expect, it } from 'vitest';
import { assignment, boundTo, from, holdings, idOf, idsOf, mayAssign, permission, rightsOf, seesRoles } from '../src/lib/rights';
import type { Role, RoleWithAssignments } from '../src/lib/types';

const role = (roleId: number, name: string, ...permissions: string[]): Role => ({ roleId, name, permissions: permissions.map((id) => ({ id, name: '', scopeTypeMask: null })), scopeTypeMask: null });
const leads = role(2, 'WorkspaceAdmin', 'PERMISSION_TYPE_VIEW_WORKSPACE', 'PERMISSION_TYPE_ASSIGN_ROLES');
const edits = role(5, 'Editor', 'PERMISSION_TYPE_VIEW_WORKSPACE');

describe('who may assign roles', () => {
  it('is administrators while roles are not in use', () => {
    expect(mayAssign(rightsOf(false, true, null), null)).toBe(true);
    expect(mayAssign(rightsOf(false, false, null), 1)).toBe(false);
    expect(seesRoles(rightsOf(false, true, null))).toBe(true);
    expect(seesRoles(rightsOf(false, false, null))).toBe(false);
  });
  it('is who has a role with that permission, where they have it', () => {
    const r = rightsOf(true, true, { roles: [leads, edits], assignments: [{ roleId: 2, scopeWorkspaceIds: [3, 4], scopeCluster: false }, { roleId: 5, scopeWorkspaceIds: [9], scopeCluster: true }] });
    expect([mayAssign(r, 3), mayAssign(r, 4), mayAssign(r, 9), mayAssign(r, null)]).toEqual([true, true, false, false]);
    expect([r.holds('VIEW_WORKSPACE', 3), r.holds('VIEW_WORKSPACE', 9), r.holds('VIEW_WORKSPACE', null), r.holds('DELETE_WORKSPACE', 3)]).toEqual([true, true, true, false]);
    expect([r.holds('ASSIGN_ROLES', 4), r.holds('ASSIGN_ROLES', 5), r.holds('ASSIGN_ROLES', null)]).toEqual([true, false, false]);
    expect(r.admin).toBe(false); // the field of the user has no effect with roles
    expect(seesRoles(r)).toBe(true);
    const everywhere = rightsOf(true, false, { roles: [leads], assignments: [{ roleId: 2, scopeWorkspaceIds: [], scopeCluster: true }] });
    expect([mayAssign(everywhere, null), mayAssign(everywhere, 77), everywhere.admin]).toEqual([false, true, false]); // for the whole cluster only ClusterAdmins
    const admin = rightsOf(true, false, { roles: [role(1, 'ClusterAdmin', 'PERMISSION_TYPE_ASSIGN_ROLES')], assignments: [{ roleId: 1, scopeWorkspaceIds: [], scopeCluster: true }] });
    expect([mayAssign(admin, null), mayAssign(admin, 77), admin.admin]).toEqual([true, true, true]);
  });
});

describe('assignments', () => {
  const list: RoleWithAssignments[] = [
    { role: edits, userRoleAssignments: [{ userId: 2, roleAssignment: { role: edits, scopeWorkspaceId: 3, scopeCluster: false } }, { userId: 8, roleAssignment: { role: edits, scopeWorkspaceId: 9, scopeCluster: false } }],
      groupRoleAssignments: [{ groupId: 1, roleAssignment: { role: edits, scopeWorkspaceId: null, scopeCluster: true } }] },
    { role: leads, userRoleAssignments: [], groupRoleAssignments: [] }, { role: null, userRoleAssignments: [], groupRoleAssignments: [] },
  ];
  const names = { users: [{ id: 2, username: 'ada' }], groups: [{ groupId: 1, name: 'vision', origin: '' }], workspaces: [{ id: 3, name: 'lab' }] };
  it('are one line each, with names as far as they are known', () => {
    expect(holdings(list, names).map((h) => `${h.who} ${h.roleName} ${h.where}`)).toEqual(['ada Editor lab', 'user 8 Editor workspace 9', 'vision Editor the whole cluster']);
    expect(new Set(holdings(list, names).map((h) => h.key)).size).toBe(3);
  });
  it('become requests that name the same', () => {
    const [ada, , vision] = holdings(list, names);
    expect(assignment(ada!)).toEqual({ userRoleAssignments: [{ userId: 2, roleAssignment: { role: { roleId: 5 }, scopeWorkspaceId: 3, scopeCluster: false } }] });
    expect(assignment(vision!)).toEqual({ groupRoleAssignments: [{ groupId: 1, roleAssignment: { role: { roleId: 5 }, scopeWorkspaceId: null, scopeCluster: true } }] });
  });
  it('find people by their names', () => {
    expect(idOf('user', 'Ada', names)).toBe(2);
    expect(idOf('group', 'vision', names)).toBe(1);
    expect(() => idOf('group', 'Vision', names)).toThrow('There is no group Vision.');
    expect(() => idOf('user', '', names)).toThrow('Name a user.');
    expect(idsOf(['ada', 'ADA'], names.users)).toEqual([2]);
    expect(() => idsOf(['ada', 'eve'], names.users)).toThrow('There is no user eve.');
  });
});

it('permissions and origins are written as words', () => {
  expect(permission({ id: 'PERMISSION_TYPE_VIEW_MASTER_LOGS', name: '', scopeTypeMask: null })).toBe('view master logs');
  expect(permission({ id: 'PERMISSION_TYPE_X', name: 'see x', scopeTypeMask: null })).toBe('see x');
  expect([from(''), from('scim'), from('oidc:corp')]).toEqual(['', 'scim', 'the identity provider corp']);
});

it('bindings have the names of workspaces, in their order', () => {
  expect(boundTo([7, 3, 4], [{ id: 4, name: 'b' }, { id: 3, name: 'a' }])).toEqual([{ id: 3, name: 'a' }, { id: 4, name: 'b' }, { id: 7, name: 'workspace 7' }]);
});
