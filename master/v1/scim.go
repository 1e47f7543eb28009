package v1

// The endpoints of SCIM 2.0 (RFC 7644), with which an identity provider manages users and groups.
// Their bodies and errors have SCIM's form, which package scim reads.
var (
	ListSCIMUsers = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Users", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "List the users that the SCIM client manages",
		Others:  []string{"filter", "startIndex", "count", "attributes", "excludedAttributes"}}
	CreateSCIMUser = Endpoint[None, None]{Method: "POST", Path: "//scim/v2/Users", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Create a user, or manage an account without a password here from now on"}
	GetSCIMUser = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Users/:id", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Get a user that the SCIM client manages", Others: []string{"attributes", "excludedAttributes"}}
	ReplaceSCIMUser = Endpoint[None, None]{Method: "PUT", Path: "//scim/v2/Users/:id", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Replace a user that the SCIM client manages"}
	PatchSCIMUser = Endpoint[None, None]{Method: "PATCH", Path: "//scim/v2/Users/:id", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Change a user that the SCIM client manages"}
	DeleteSCIMUser = Endpoint[None, None]{Method: "DELETE", Path: "//scim/v2/Users/:id", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Deactivate a user, and forget it as one that the SCIM client manages; what it owns stays"}

	ListSCIMGroups = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Groups", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "List the groups that the SCIM client created",
		Others:  []string{"filter", "startIndex", "count", "attributes", "excludedAttributes"}}
	CreateSCIMGroup = Endpoint[None, None]{Method: "POST", Path: "//scim/v2/Groups", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "Create a group"}
	GetSCIMGroup = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Groups/:id", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "Get a group that the SCIM client created", Others: []string{"attributes", "excludedAttributes"}}
	ReplaceSCIMGroup = Endpoint[None, None]{Method: "PUT", Path: "//scim/v2/Groups/:id", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "Replace a group that the SCIM client created"}
	PatchSCIMGroup = Endpoint[None, None]{Method: "PATCH", Path: "//scim/v2/Groups/:id", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "Change a group that the SCIM client created"}
	DeleteSCIMGroup = Endpoint[None, None]{Method: "DELETE", Path: "//scim/v2/Groups/:id", Access: BySCIM, Object: KindGroup, Verb: Administer, Stream: true,
		Summary: "Delete a group that the SCIM client created, with its roles"}

	SearchSCIM = Endpoint[None, None]{Method: "POST", Path: "//scim/v2/.search", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true, Audit: AuditNever,
		Summary: "Answers 501: users and groups are searched in their own lists"}
	GetSCIMConfig = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/ServiceProviderConfig", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Describe what the master supports of SCIM"}
	ListSCIMTypes = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/ResourceTypes", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "List the kinds of SCIM resources"}
	GetSCIMType = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/ResourceTypes/:name", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Get a kind of SCIM resource"}
	ListSCIMSchemas = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Schemas", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "List the SCIM schemas"}
	GetSCIMSchema = Endpoint[None, None]{Method: "GET", Path: "//scim/v2/Schemas/:name", Access: BySCIM, Object: KindUser, Verb: Administer, Stream: true,
		Summary: "Get a SCIM schema"}
)
