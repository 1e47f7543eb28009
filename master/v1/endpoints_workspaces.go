package v1

// The endpoints of workspaces.
var (
	ListWorkspaces = Endpoint[GetWorkspacesRequest, GetWorkspacesResponse]{Method: "GET", Path: "/workspaces", Access: ByBoth, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List workspaces"}
	CreateWorkspace = Endpoint[PostWorkspaceRequest, PostWorkspaceResponse]{Method: "POST", Path: "/workspaces", Access: ByUsers, Object: KindWorkspace, Verb: Create,
		Summary: "Create a workspace"}
	GetWorkspace = Endpoint[None, GetWorkspaceResponse]{Method: "GET", Path: "/workspaces/:id", Access: ByBoth, Object: KindWorkspace, Verb: View,
		Summary: "Get a workspace"}
	ChangeWorkspace = Endpoint[PatchWorkspace, PatchWorkspaceResponse]{Method: "PATCH", Path: "/workspaces/:id", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Change a workspace"}
	DeleteWorkspace = Endpoint[None, DeleteWorkspaceResponse]{Method: "DELETE", Path: "/workspaces/:id", Access: ByUsers, Object: KindWorkspace, Verb: Delete,
		Summary: "Delete an empty workspace"}
	ArchiveWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/archive", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Archive a workspace"}
	UnarchiveWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/unarchive", Access: ByUsers, Object: KindWorkspace, Verb: Change, Again: true,
		Summary: "Unarchive a workspace"}
	ListProjects = Endpoint[GetWorkspaceProjectsRequest, GetWorkspaceProjectsResponse]{Method: "GET", Path: "/workspaces/:id/projects", Access: ByBoth, Object: KindWorkspace, Verb: View, List: true,
		Summary: "List the projects of a workspace"}
	CreateProject = Endpoint[PostProjectRequest, PostProjectResponse]{Method: "POST", Path: "/workspaces/:id/projects", Access: ByUsers, Object: KindWorkspace, Verb: View,
		Summary: "Create a project in a workspace"}
	PinWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/pin", Access: ByUsers, Object: KindWorkspace, Verb: View, Again: true,
		Summary: "Pin a workspace"}
	UnpinWorkspace = Endpoint[None, Empty]{Method: "POST", Path: "/workspaces/:id/unpin", Access: ByUsers, Object: KindWorkspace, Verb: View, Again: true,
		Summary: "Unpin a workspace"}
)
