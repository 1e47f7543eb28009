// Package auth says who somebody is and what they may do. It holds no state and
// does no I/O but for hashing: rows are store's, requests are api's.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"

	"golang.org/x/crypto/bcrypt"
)

// Who made a request: a person, or a task.
type Who struct {
	UserID   int
	Username string
	Admin    bool
	// Of a person's session.
	SessionID int64
	// SessionEpoch rises when all sessions of the user end; what is started with a
	// session belongs to its epoch.
	SessionEpoch int
	// Within is the attempt that a session was made for: a program of its user's acts
	// with it in the user's name, within what programs need. It is never an admin's.
	Within string
	// Grants narrow what the user may do to workspaces; nil narrows nothing.
	Grants *Grants
	// Of a task: its attempt, whose token was shown. Its UserID is its owner's,
	// but it may only do what a task does.
	AllocationID string
	TaskID       string
	TrialID      int
	ExperimentID int
	RunID        int
	Rank         int
	Ended        bool // the attempt is over: logs and the exit report are still taken
	OwnerGone    bool // its owner was deactivated: what it reports about itself is still taken
}

// IsTask tells a task from a person.
func (w Who) IsTask() bool { return w.AllocationID != "" }

// NewToken makes a token and the hash that is stored of it.
func NewToken() (token string, hash []byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	token = "det." + base64.RawURLEncoding.EncodeToString(b[:])
	return token, HashToken(token)
}

// DerivedToken makes the token that follows from a secret of the caller's: asked
// twice, the same. A runner's claim may be answered twice, by a slow master after
// a fast one; both answers must be good.
func DerivedToken(secret, purpose string) (token string, hash []byte) {
	sum := sha256.Sum256([]byte(purpose + "\x00" + secret))
	token = "det." + base64.RawURLEncoding.EncodeToString(sum[:])
	return token, HashToken(token)
}

// HashToken is what a token is looked up by. Tokens are 256 random bits, so a
// plain hash needs no salt.
func HashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// HashPassword stores a password as clients send it (itself a salted hash). A
// blank password is stored as blank: old clusters have them.
func HashPassword(sent string) (string, error) {
	if sent == "" {
		return "", nil
	}
	b, err := bcrypt.GenerateFromPassword(preimage(sent), bcrypt.DefaultCost)
	return string(b), err
}

// CheckPassword compares what a client sent with what is stored.
func CheckPassword(stored, sent string) bool {
	if stored == "" || sent == "" {
		return subtle.ConstantTimeCompare([]byte(stored), []byte(sent)) == 1
	}
	return bcrypt.CompareHashAndPassword([]byte(stored), preimage(sent)) == nil
}

// preimage fits what clients send, 128 hexadecimal digits, into the 72 bytes
// that bcrypt reads.
func preimage(sent string) []byte {
	h := sha256.Sum256([]byte(sent))
	return []byte(base64.StdEncoding.EncodeToString(h[:]))
}
