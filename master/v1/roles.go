package v1

// ScopeTypeMask says for what a role or a permission can be assigned.
type ScopeTypeMask struct {
	Cluster   bool `json:"cluster"`
	Workspace bool `json:"workspace"`
}

// Permission is something that roles allow. Its id is one of Determined's names, such as
// PERMISSION_TYPE_VIEW_WORKSPACE.
type Permission struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	ScopeTypeMask *ScopeTypeMask `json:"scopeTypeMask"`
}

// Role is a set of permissions. Requests name a role by its id alone.
type Role struct {
	RoleID        int            `json:"roleId"`
	Name          string         `json:"name"`
	Permissions   []Permission   `json:"permissions"`
	ScopeTypeMask *ScopeTypeMask `json:"scopeTypeMask"`
}

// RoleAssignment is a role with where it holds: in a workspace or, without one, everywhere.
type RoleAssignment struct {
	Role             Role `json:"role"`
	ScopeWorkspaceID *int `json:"scopeWorkspaceId"`
	ScopeCluster     bool `json:"scopeCluster"`
}

// UserRoleAssignment is a role of a user.
type UserRoleAssignment struct {
	UserID         int            `json:"userId"`
	RoleAssignment RoleAssignment `json:"roleAssignment"`
}

// GroupRoleAssignment is a role of a group.
type GroupRoleAssignment struct {
	GroupID        int            `json:"groupId"`
	RoleAssignment RoleAssignment `json:"roleAssignment"`
}

// RoleWithAssignments is a role with those who have it.
type RoleWithAssignments struct {
	Role                 *Role                 `json:"role"`
	GroupRoleAssignments []GroupRoleAssignment `json:"groupRoleAssignments"`
	UserRoleAssignments  []UserRoleAssignment  `json:"userRoleAssignments"`
	EverybodysRoles      []RoleAssignment      `json:"everybodysRoles,omitempty"` // Detent's: for all users
}

// RoleAssignmentSummary is where somebody has a role.
type RoleAssignmentSummary struct {
	RoleID            int   `json:"roleId"`
	ScopeWorkspaceIDs []int `json:"scopeWorkspaceIds"`
	ScopeCluster      bool  `json:"scopeCluster"`
}

// ListRolesRequest is a message of the wire.
type ListRolesRequest struct {
	Offset int `json:"offset,omitempty"`
	Limit  int `json:"limit"`
}

// ListRolesResponse is a message of the wire.
type ListRolesResponse struct {
	Roles      []Role     `json:"roles"`
	Pagination Pagination `json:"pagination"`
}

// GetRolesByIDRequest is a message of the wire.
type GetRolesByIDRequest struct {
	RoleIDs []int `json:"roleIds,omitempty"`
}

// GetRolesByIDResponse is a message of the wire.
type GetRolesByIDResponse struct {
	Roles []RoleWithAssignments `json:"roles"`
}

// GetRolesAssignedToUserResponse is a message of the wire.
type GetRolesAssignedToUserResponse struct {
	Roles []RoleWithAssignments `json:"roles"`
}

// GetRolesAssignedToGroupResponse is a message of the wire.
type GetRolesAssignedToGroupResponse struct {
	Roles       []Role                  `json:"roles"`
	Assignments []RoleAssignmentSummary `json:"assignments"`
}

// SearchRolesAssignableToScopeRequest is a message of the wire.
type SearchRolesAssignableToScopeRequest struct {
	Offset      int  `json:"offset,omitempty"`
	Limit       int  `json:"limit"`
	WorkspaceID *int `json:"workspaceId,omitempty"`
}

// SearchRolesAssignableToScopeResponse is a message of the wire.
type SearchRolesAssignableToScopeResponse struct {
	Pagination *Pagination `json:"pagination"`
	Roles      []Role      `json:"roles"`
}

// AssignRolesRequest is a message of the wire.
type AssignRolesRequest struct {
	GroupRoleAssignments []GroupRoleAssignment `json:"groupRoleAssignments,omitempty"`
	UserRoleAssignments  []UserRoleAssignment  `json:"userRoleAssignments,omitempty"`
	EverybodysRoles      []RoleAssignment      `json:"everybodysRoles,omitempty"` // Detent's: for all users
}

// RemoveAssignmentsRequest is a message of the wire.
type RemoveAssignmentsRequest struct {
	GroupRoleAssignments []GroupRoleAssignment `json:"groupRoleAssignments,omitempty"`
	UserRoleAssignments  []UserRoleAssignment  `json:"userRoleAssignments,omitempty"`
	EverybodysRoles      []RoleAssignment      `json:"everybodysRoles,omitempty"` // Detent's: for all users
}

// GetPermissionsSummaryResponse is a message of the wire.
type GetPermissionsSummaryResponse struct {
	Roles       []Role                  `json:"roles"`
	Assignments []RoleAssignmentSummary `json:"assignments"`
}

// GetGroupsAndUsersAssignedToWorkspaceResponse is a message of the wire.
type GetGroupsAndUsersAssignedToWorkspaceResponse struct {
	Groups                []GroupDetails        `json:"groups"`
	UsersAssignedDirectly []User                `json:"usersAssignedDirectly"`
	Assignments           []RoleWithAssignments `json:"assignments"`
}

// AccessPreview is what a user would have with roles, which the master's configuration does not
// use yet.
type AccessPreview struct {
	UserID       int    `json:"userId"`
	Username     string `json:"username"`
	Active       bool   `json:"active"`
	ClusterAdmin bool   `json:"clusterAdmin"` // everything
	Views        int    `json:"views"`        // workspaces with experiments that the user would see
	Edits        int    `json:"edits"`        // those of them in which the user would start experiments
	Owns         int    `json:"owns"`         // experiments of the user
	LosesSight   int    `json:"losesSight"`   // experiments of the user that the user would not see any more
	LosesControl int    `json:"losesControl"` // experiments of the user that the user could not change any more
}

// AccessPreviewResponse is a message of the wire.
type AccessPreviewResponse struct {
	InUse      bool            `json:"inUse"`      // roles are in use already
	Workspaces int             `json:"workspaces"` // all workspaces
	Users      []AccessPreview `json:"users"`
	Pagination Pagination      `json:"pagination"`
}
