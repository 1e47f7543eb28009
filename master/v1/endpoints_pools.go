package v1

// The endpoints of the bindings of pools to workspaces.
var (
	ListPoolWorkspaces = Endpoint[GetListRequest, ListWorkspacesBoundToRPResponse]{Method: "GET", Path: "/resource-pools/:pool/workspace-bindings", Access: ByBoth, Object: KindPool, Verb: View, List: true,
		Summary: "List the workspaces to which a resource pool is bound"}
	BindPool = Endpoint[PoolBindings, None]{Method: "POST", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer,
		Summary: "Bind a resource pool to more workspaces"}
	UnbindPool = Endpoint[PoolBindings, None]{Method: "DELETE", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer, Again: true,
		Summary: "Remove bindings of a resource pool; without any it is open to all workspaces"}
	ReplacePoolBindings = Endpoint[PoolBindings, None]{Method: "PUT", Path: "/resource-pools/:pool/workspace-bindings", Access: ByUsers, Object: KindPool, Verb: Administer, Again: true,
		Summary: "Bind a resource pool to exactly these workspaces"}
	ListWorkspacePools = Endpoint[GetListRequest, ListRPsBoundToWorkspaceResponse]{Method: "GET", Path: "/workspaces/:id/available-resource-pools", Access: ByBoth, Object: KindWorkspace, Verb: View,
		Summary: "List the resource pools that a workspace may use"}
)
