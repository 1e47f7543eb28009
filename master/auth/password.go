package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// Costs of Argon2id. Of the equally strong ones that OWASP recommends they need the least memory,
// because strangers can let a master compute many hashes at once.
const (
	argonPasses = 5
	argonKiB    = 7 << 10
	argonSalt   = 16
	argonKey    = 32
)

var argonPrefix = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$", argon2.Version, argonKiB, argonPasses)

// HashPassword returns the hash to store for a password as clients send it (itself a salted
// hash). A blank password stays blank, for clusters that were migrated from Determined.
func HashPassword(sent string) string {
	if sent == "" {
		return ""
	}
	var salt [argonSalt]byte
	_, _ = rand.Read(salt[:]) // never fails: crypto/rand ends the program instead
	return argonPrefix + base64.RawStdEncoding.EncodeToString(salt[:]) + "$" + base64.RawStdEncoding.EncodeToString(argonOf(sent, salt[:]))
}

func argonOf(sent string, salt []byte) []byte {
	return argon2.IDKey([]byte(sent), salt, argonPasses, argonKiB, 1, argonKey)
}

// ForeignHash begins the hash of an imported user, which Determined made: bcrypt of the first 72 bytes that clients send.
const ForeignHash = "$determined"

// IsForeign reports whether Determined made the hash. After a sign-in it is replaced by one of ours.
func IsForeign(stored string) bool { return strings.HasPrefix(stored, ForeignHash) }

// CheckPassword compares a password as a client sent it with the stored hash.
func CheckPassword(stored, sent string) bool {
	if stored == "" || sent == "" {
		return subtle.ConstantTimeCompare([]byte(stored), []byte(sent)) == 1
	}
	if hash, foreign := strings.CutPrefix(stored, ForeignHash); foreign {
		return bcrypt.CompareHashAndPassword([]byte(hash), []byte(sent[:min(len(sent), 72)])) == nil
	}
	rest, ours := strings.CutPrefix(stored, argonPrefix)
	if !ours {
		return false
	}
	text, key, _ := strings.Cut(rest, "$")
	salt, err := base64.RawStdEncoding.DecodeString(text)
	want, err2 := base64.RawStdEncoding.DecodeString(key)
	return err == nil && err2 == nil && len(want) == argonKey && subtle.ConstantTimeCompare(argonOf(sent, salt), want) == 1
}
