package v1

// ListUserSecrets is the endpoint of secrets that users mount.
var ListUserSecrets = Endpoint[GetListRequest, GetUserSecretsResponse]{Method: "GET", Path: "/detent/secrets", Access: ByUsers, Object: KindOwn, Verb: View,
	Summary: "List the names of the secrets that you may mount in tasks; no answer has a value"}
