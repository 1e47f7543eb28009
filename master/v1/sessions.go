package v1

import (
	"time"

	"github.com/detent-ml/detent/master/optional"
)

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
