package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

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
