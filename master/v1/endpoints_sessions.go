package v1

// The endpoints of sessions.
var (
	ListSessions = Endpoint[GetSessionsRequest, GetSessionsResponse]{Method: "GET", Path: "/detent/sessions", Access: ByUsers, Object: KindSession, Verb: View, List: true,
		Summary: "List where you are signed in; an administrator also lists it of another user, or of all"}
	EndSession = Endpoint[None, Empty]{Method: "DELETE", Path: "/detent/sessions/:id", Access: ByUsers, Object: KindSession, Verb: Change,
		Summary: "End one of your sign-ins; an administrator ends those of others too"}
	ProviderSignOut = Endpoint[None, None]{Method: "POST", Path: "//oidc/logout", Access: Public, Stream: true, Audit: AuditAlways,
		Summary: "End the sessions of a user who has signed out at an identity provider, which sends this (back-channel logout)"}
)
