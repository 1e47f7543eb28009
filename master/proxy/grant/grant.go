// Package grant makes and checks the permission with which a master lets an ingress forward one
// request to a task's gateway. The ingress passes it on in a header, so that the attempt's secret
// never leaves the master and the runner.
//
// A grant is valid for one method and path, for a short time. It names the visitor, whose
// connections the gateway closes when the visitor's session ends. Whoever learns a grant, for
// example the visitor, can repeat only a request that the visitor may make.
package grant

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Life is how long a grant is valid. It is the maximum by which the clocks of a master and of a
// task's node may differ.
const Life = 2 * time.Minute

// prefix distinguishes a grant from an attempt's secret.
const prefix = "grant"

// New makes a grant for a request of a session; 0 is a visitor without one. path is the
// encoded path, without the query.
func New(secret, method, path string, session int64, now time.Time) string {
	visitor := visitorOf(secret, session)
	expires := strconv.FormatInt(now.Add(Life).Unix(), 10)
	return strings.Join([]string{prefix, expires, visitor, seal(secret, "request", expires, visitor, method, path)}, ".")
}

// Check returns the visitor of a grant that is valid for a request.
func Check(secret, value, method, path string, now time.Time) (visitor string, ok bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 4 || parts[0] != prefix || secret == "" {
		return "", false
	}
	if !hmac.Equal([]byte(parts[3]), []byte(seal(secret, "request", parts[1], parts[2], method, path))) {
		return "", false
	}
	expires, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.Unix() > expires {
		return "", false
	}
	return parts[2], true
}

// Session returns the session of a visitor whom a grant with this secret has named.
func Session(secret, visitor string) (session int64, ok bool) {
	id, _, _ := strings.Cut(visitor, "-")
	session, err := strconv.ParseInt(id, 10, 64)
	if err != nil || session < 0 || secret == "" || !hmac.Equal([]byte(visitor), []byte(visitorOf(secret, session))) {
		return 0, false
	}
	return session, true
}

// Anonymous reports whether a visitor has no session.
func Anonymous(visitor string) bool { return strings.HasPrefix(visitor, "0-") }

// visitorOf names a session. Only the master and the gateway can make the name, so a task's
// program cannot ask the master about sessions that it makes up.
func visitorOf(secret string, session int64) string {
	id := strconv.FormatInt(session, 10)
	return id + "-" + seal(secret, "visitor", id)[:32]
}

// seal returns a MAC of words, of which only the last may contain a line break.
func seal(secret string, words ...string) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write([]byte(strings.Join(words, "\n"))) // a hash accepts everything
	return hex.EncodeToString(h.Sum(nil))
}
