package v1

// The endpoints of quotas, which Determined does not have.
var (
	ListQuotas = Endpoint[GetQuotasRequest, GetQuotasResponse]{Method: "GET", Path: "/detent/quotas", Access: ByBoth, Object: KindQuota, Verb: View, List: true,
		Summary: "List quotas and how much of each is in use"}
	PutQuota = Endpoint[PutQuotaRequest, PutQuotaResponse]{Method: "PUT", Path: "/detent/quotas", Access: ByUsers, Object: KindQuota, Verb: Change, NamedIn: Body, Again: true,
		Summary: "Set a quota of a workspace, a project or a user"}
	DeleteQuota = Endpoint[None, Empty]{Method: "DELETE", Path: "/detent/quotas/:id", Access: ByUsers, Object: KindQuota, Verb: Change,
		Summary: "Delete a quota"}
)
