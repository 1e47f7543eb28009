package v1

// The endpoints of access tokens.
var (
	ListTokens = Endpoint[GetAccessTokensRequest, GetAccessTokensResponse]{Method: "GET", Path: "/tokens", Access: ByUsers, Object: KindToken, Verb: View, List: true, Audit: AuditAlways,
		Summary: "List your access tokens; an administrator lists those of all users"}
	CreateToken = Endpoint[PostAccessTokenRequest, PostAccessTokenResponse]{Method: "POST", Path: "/tokens", Access: ByUsers, Object: KindToken, Verb: Create,
		Summary: "Create an access token; the answer alone has the token itself"}
	ChangeToken = Endpoint[PatchAccessTokenRequest, PatchAccessTokenResponse]{Method: "PATCH", Path: "/tokens/:id", Access: ByUsers, Object: KindToken, Verb: Change, Again: true,
		Summary: "Revoke an access token, or change its description"}
)
