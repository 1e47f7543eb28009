package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

// The endpoints of sessions.
var (
	ListSessions = Endpoint[GetSessionsRequest, GetSessionsResponse]{Method: "GET", Path: "/detent/sessions", Access: ByUsers, Object: KindSession, Verb: View, List: true,
		Summary: "List where you are signed in; an administrator also lists it of another user, or of all"}
	EndSession = Endpoint[None, Empty]{Method: "DELETE", Path: "/detent/sessions/:id", Access: ByUsers, Object: KindSession, Verb: Change,
		Summary: "End one of your sign-ins; an administrator ends those of others too"}
	ProviderSignOut = Endpoint[None, None]{Method: "POST", Path: "//oidc/logout", Access: Public, Stream: true, Audit: AuditAlways,
		Summary: "End the sessions of a user who has signed out at an identity provider, which sends this (back-channel logout)"}
)

// The endpoints of access tokens.
var (
	ListTokens = Endpoint[GetAccessTokensRequest, GetAccessTokensResponse]{Method: "GET", Path: "/tokens", Access: ByUsers, Object: KindToken, Verb: View, List: true, Audit: AuditAlways,
		Summary: "List your access tokens; an administrator lists those of all users"}
	CreateToken = Endpoint[PostAccessTokenRequest, PostAccessTokenResponse]{Method: "POST", Path: "/tokens", Access: ByUsers, Object: KindToken, Verb: Create,
		Summary: "Create an access token; the answer alone has the token itself"}
	ChangeToken = Endpoint[PatchAccessTokenRequest, PatchAccessTokenResponse]{Method: "PATCH", Path: "/tokens/:id", Access: ByUsers, Object: KindToken, Verb: Change, Again: true,
		Summary: "Revoke an access token, or change its description"}
)

type LoginRequest struct {
	Password string `json:"password"`
	Username string `json:"username"`
	IsHashed *bool  `json:"isHashed,omitempty"`
}

// LoginJobRequest signs a job of Nomad in.
type LoginJobRequest struct {
	Identity string `json:"identity"` // the workload identity, a JWT
}

type LoginResponse struct {
	Token string `json:"token"`
	User  User   `json:"user"`
}

// StartDeviceSignInRequest begins a sign-in with a device code; an empty provider is the first one.
type StartDeviceSignInRequest struct {
	Provider string `json:"provider"`
}

// StartDeviceSignInResponse has what the user needs to sign in on another machine: URL with
// UserCode, or CompleteURL, which contains the code. DeviceCode is a secret of the caller.
type StartDeviceSignInResponse struct {
	DeviceCode  string `json:"deviceCode"`
	UserCode    string `json:"userCode"`
	URL         string `json:"url"`
	CompleteURL string `json:"completeUrl"`
	Interval    int    `json:"interval"`  // seconds between two calls of FinishDeviceSignIn
	ExpiresIn   int    `json:"expiresIn"` // seconds
}

// FinishDeviceSignInRequest asks for the result of a sign-in with a device code.
type FinishDeviceSignInRequest struct {
	Provider   string `json:"provider"`
	DeviceCode string `json:"deviceCode"`
}

// FinishDeviceSignInResponse has the token of the session, or asks to call again later.
type FinishDeviceSignInResponse struct {
	Pending bool   `json:"pending"`
	Slower  bool   `json:"slower"` // poll less often
	Token   string `json:"token"`
	User    *User  `json:"user"`
}

// Session is a sign-in of a user that has not ended.
type Session struct {
	ID         int        `json:"id"`
	UserID     int        `json:"userId"`
	Username   string     `json:"username"`
	CreatedAt  *time.Time `json:"createdAt"`
	ExpiresAt  *time.Time `json:"expiresAt"`
	LastUsedAt *time.Time `json:"lastUsedAt"` // to the hour
	Address    string     `json:"address"`    // where the sign-in came from
	Agent      string     `json:"agent"`      // the browser or program, as it names itself
	Provider   string     `json:"provider"`   // "" for a password
	Current    bool       `json:"current"`    // the session of this call
}

// GetSessionsResponse is a message of the wire.
type GetSessionsResponse struct {
	Sessions   []Session   `json:"sessions"`
	Pagination *Pagination `json:"pagination"`
}

// Records returns the records of the page.
func (r GetSessionsResponse) Records() ([]Session, Pagination) {
	return r.Sessions, optional.Value(r.Pagination)
}

// TokenInfo describes an access token. The token itself is sent once, to the user who creates it.
type TokenInfo struct {
	ID          int        `json:"id"`
	UserID      int        `json:"userId"`
	Description string     `json:"description"`
	CreatedAt   *time.Time `json:"createdAt"`
	Expiry      *time.Time `json:"expiry"` // null: never
	Revoked     bool       `json:"revoked"`
	TokenType   string     `json:"tokenType"`
	ReadOnly    bool       `json:"readOnly"`   // ours
	LastUsedAt  *time.Time `json:"lastUsedAt"` // ours, to the hour
}

// TokenTypeAccess is the type of an access token, as TokenInfo has it.
const TokenTypeAccess = "TOKEN_TYPE_ACCESS_TOKEN"

// GetAccessTokensResponse is a message of the wire.
type GetAccessTokensResponse struct {
	Pagination *Pagination `json:"pagination"`
	TokenInfo  []TokenInfo `json:"tokenInfo"`
}

// Records returns the records of the page.
func (r GetAccessTokensResponse) Records() ([]TokenInfo, Pagination) {
	return r.TokenInfo, optional.Value(r.Pagination)
}

// PostAccessTokenRequest is a message of the wire. The lifespan is a duration as Go writes it, or
// -1 for a token that does not expire.
type PostAccessTokenRequest struct {
	UserID      int     `json:"userId"`
	Lifespan    *string `json:"lifespan,omitempty"`
	Description *string `json:"description,omitempty"`
	ReadOnly    *bool   `json:"readOnly,omitempty"` // ours
}

// PostAccessTokenResponse is a message of the wire.
type PostAccessTokenResponse struct {
	Token   string `json:"token"`
	TokenID int    `json:"tokenId"`
}

// PatchAccessTokenRequest is a message of the wire.
type PatchAccessTokenRequest struct {
	TokenID     int     `json:"tokenId"`
	Description *string `json:"description,omitempty"`
	SetRevoked  *bool   `json:"setRevoked,omitempty"`
}

// PatchAccessTokenResponse is a message of the wire.
type PatchAccessTokenResponse struct {
	TokenInfo *TokenInfo `json:"tokenInfo"`
}
