package v1

// The endpoints of groups and roles.
var (
	ListGroups = Endpoint[GetGroupsRequest, GetGroupsResponse]{Method: "POST", Path: "/groups/search", Access: ByUsers, Object: KindGroup, Verb: View, List: true, Again: true,
		Summary: "List groups; who may not assign roles sees their own"}
	GetGroup = Endpoint[None, GetGroupResponse]{Method: "GET", Path: "/groups/:group", Access: ByUsers, Object: KindGroup, Verb: View,
		Summary: "Get a group with its users"}
	CreateGroup = Endpoint[CreateGroupRequest, CreateGroupResponse]{Method: "POST", Path: "/groups", Access: ByAdmins, Object: KindGroup, Verb: Administer,
		Summary: "Create a group"}
	UpdateGroup = Endpoint[UpdateGroupRequest, UpdateGroupResponse]{Method: "PUT", Path: "/groups/:group", Access: ByAdmins, Object: KindGroup, Verb: Administer, Again: true,
		Summary: "Rename a group, add users and remove users"}
	DeleteGroup = Endpoint[None, Empty]{Method: "DELETE", Path: "/groups/:group", Access: ByAdmins, Object: KindGroup, Verb: Administer,
		Summary: "Delete a group, with the roles that it has"}
	AssignMultipleGroups = Endpoint[AssignMultipleGroupsRequest, Empty]{Method: "PATCH", Path: "/users/assignments", Access: ByAdmins, Object: KindGroup, Verb: Administer, NamedIn: Body, Again: true,
		Summary: "Add users to groups, and remove them from groups"}

	ListRoles = Endpoint[ListRolesRequest, ListRolesResponse]{Method: "POST", Path: "/roles/search", Access: ByUsers, Object: KindRole, Verb: View, List: true, Again: true,
		Summary: "List roles"}
	GetRolesByID = Endpoint[GetRolesByIDRequest, GetRolesByIDResponse]{Method: "POST", Path: "/roles/search/by-ids", Access: ByUsers, Object: KindRole, Verb: View, List: true, Again: true,
		Summary: "Get roles with those who have them, as far as the caller may see that"}
	GetRolesAssignedToUser = Endpoint[None, GetRolesAssignedToUserResponse]{Method: "GET", Path: "/roles/search/by-user/:user", Access: ByUsers, Object: KindUser, Verb: View,
		Summary: "List the roles of a user, as far as the caller may see them"}
	GetRolesAssignedToGroup = Endpoint[None, GetRolesAssignedToGroupResponse]{Method: "GET", Path: "/roles/search/by-group/:group", Access: ByUsers, Object: KindGroup, Verb: View,
		Summary: "List the roles of a group, as far as the caller may see them"}
	SearchRolesAssignableToScope = Endpoint[SearchRolesAssignableToScopeRequest, SearchRolesAssignableToScopeResponse]{Method: "POST", Path: "/roles/search/by-assignability", Access: ByUsers, Object: KindRole, Verb: View, List: true, Again: true,
		Summary: "List the roles that can be assigned in a workspace or, without one, everywhere"}
	AssignRoles = Endpoint[AssignRolesRequest, Empty]{Method: "POST", Path: "/roles/add-assignments", Access: ByUsers, Object: KindRole, Verb: Assign, NamedIn: Body, Again: true,
		Summary: "Give roles to users and groups"}
	RemoveAssignments = Endpoint[RemoveAssignmentsRequest, Empty]{Method: "POST", Path: "/roles/remove-assignments", Access: ByUsers, Object: KindRole, Verb: Assign, NamedIn: Body,
		Summary: "Take roles from users and groups"}
	GetPermissionsSummary = Endpoint[None, GetPermissionsSummaryResponse]{Method: "GET", Path: "/permissions/summary", Access: ByUsers, Object: KindOwn,
		Summary: "Get your roles, with where you have them"}
	ListWorkspaceMembers = Endpoint[GetWorkspaceMembersRequest, GetGroupsAndUsersAssignedToWorkspaceResponse]{Method: "GET", Path: "/roles/workspace/:workspace", Access: ByUsers, Object: KindWorkspace, Verb: View,
		Summary: "List the users and groups with roles in a workspace"}
	PreviewAccess = Endpoint[GetListRequest, AccessPreviewResponse]{Method: "GET", Path: "/detent/access/preview", Access: ByAdmins, Object: KindRole, Verb: Administer,
		Summary: "Show what each user would see and change with roles"}
)

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
type GetRolesAssignedToUserResponse GetRolesByIDResponse

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
type RemoveAssignmentsRequest AssignRolesRequest

// GetPermissionsSummaryResponse is a message of the wire.
type GetPermissionsSummaryResponse GetRolesAssignedToGroupResponse

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

// Group is a group of users.
type Group struct {
	GroupID int    `json:"groupId"`
	Name    string `json:"name"`
	// Origin is the origin of the group: "" for this cluster, or oidc: and the name of an identity
	// provider. The name and the members of a group with an origin are changed there.
	Origin string `json:"origin"`
}

// GroupDetails is a group with its users.
type GroupDetails struct {
	GroupID int    `json:"groupId"`
	Name    string `json:"name"`
	Origin  string `json:"origin"`
	Users   []User `json:"users"`
}

// GroupSearchResult is a group in a list.
type GroupSearchResult struct {
	Group      Group `json:"group"`
	NumMembers int   `json:"numMembers"`
}

// GetGroupsRequest is a message of the wire.
type GetGroupsRequest struct {
	UserID int    `json:"userId,omitempty"`
	Name   string `json:"name,omitempty"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit"`
}

// GetGroupsResponse is a message of the wire.
type GetGroupsResponse struct {
	Groups     []GroupSearchResult `json:"groups"`
	Pagination *Pagination         `json:"pagination"`
}

// GetGroupResponse is a message of the wire.
type GetGroupResponse struct {
	Group GroupDetails `json:"group"`
}

// CreateGroupRequest is a message of the wire.
type CreateGroupRequest struct {
	Name     string `json:"name"`
	AddUsers []int  `json:"addUsers,omitempty"`
}

// CreateGroupResponse is a message of the wire.
type CreateGroupResponse GetGroupResponse

// UpdateGroupRequest is a message of the wire. An empty name leaves the name.
type UpdateGroupRequest struct {
	GroupID     int    `json:"groupId"`
	Name        string `json:"name,omitempty"`
	AddUsers    []int  `json:"addUsers,omitempty"`
	RemoveUsers []int  `json:"removeUsers,omitempty"`
}

// UpdateGroupResponse is a message of the wire.
type UpdateGroupResponse GetGroupResponse

// AssignMultipleGroupsRequest adds users to groups, and removes them from groups.
type AssignMultipleGroupsRequest struct {
	UserIDs      []int `json:"userIds"`
	AddGroups    []int `json:"addGroups"`
	RemoveGroups []int `json:"removeGroups"`
}
