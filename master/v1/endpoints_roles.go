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
