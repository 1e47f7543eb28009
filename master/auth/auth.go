// Package auth describes callers (Who) and decides what they may do (Can, Scope), and hashes
// passwords and tokens. It has no state and does no I/O.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// Who is the caller of a request: a user, or a task.
type Who struct {
	UserID   int
	Username string
	Admin    bool
	// Of a user's session.
	SessionID int64
	// SessionEpoch increases when all sessions of the user are ended. A task has the epoch in
	// which it was created.
	SessionEpoch int
	// Within is the attempt whose program acts in the user's name with this session; "" for a
	// session of the user. Such a session has only the rights that programs need, and is never
	// an admin's.
	Within string
	// AccessToken: the session is an access token, which programs keep. ReadOnly: the token may
	// only view.
	AccessToken, ReadOnly bool
	// Service names a service that acts for no user, such as a SCIM client. It may call only the
	// endpoints that are made for it.
	Service string
	// Grants are the roles of the user, or of the task's owner; nil: roles are not in use.
	Grants *Grants
	// Everybodys are the roles that everybody has, if roles are not in use: what they allow on others' objects. Nil: none.
	Everybodys *Grants
	// Of a task: the attempt that the token belongs to. UserID is its owner's, but the caller
	// has only the rights of a task.
	AllocationID string
	TaskID       string
	TrialID      int
	ExperimentID int
	RunID        int
	Rank         int
	Ended        bool // the attempt has ended: only its log lines and exit are accepted
	OwnerGone    bool // its owner was deactivated: only reports about itself are accepted
}

// IsTask reports whether the caller is a task.
func (w Who) IsTask() bool { return w.AllocationID != "" }

// tokenPrefix is the begin of every token, by which it is found in addresses and texts.
const tokenPrefix = "det."

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool { return strings.HasPrefix(text, tokenPrefix) }

// NewToken returns a random token and its hash, which is stored.
func NewToken() (token string, hash []byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return token, HashToken(token)
}

// DerivedToken returns a token that is computed from a secret of the caller, always the same.
// If two masters answer a repeated claim of a runner, both answers have the same token.
func DerivedToken(secret, purpose string) (token string, hash []byte) {
	sum := sha256.Sum256([]byte(purpose + "\x00" + secret))
	token = tokenPrefix + base64.RawURLEncoding.EncodeToString(sum[:])
	return token, HashToken(token)
}

// HashToken returns the hash by which a token is found. Tokens have 256 random bits, so the
// hash needs no salt.
func HashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}
