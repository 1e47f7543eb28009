package api

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/detent-ml/detent/master/auth"
)

// TestPasswordHashesAreRenewed: a user can sign in with the hash of an earlier release, and the
// master then stores a hash of the current kind. A wrong password changes nothing, and sessions
// stay valid.
func TestPasswordHashesAreRenewed(t *testing.T) {
	r := newRig(t)
	const password = "what an earlier release has stored"
	r.newUser("eve")
	now := auth.HashPassword(hashedAsClientsDo(password, false))
	r.exec("UPDATE users SET password_hash = $1 WHERE username = 'eve'", now)
	session := r.signIn("eve", password)
	sum := sha256.Sum256([]byte(hashedAsClientsDo(password, false)))
	old, err := bcrypt.GenerateFromPassword([]byte(base64.StdEncoding.EncodeToString(sum[:])), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	r.exec("UPDATE users SET password_hash = $1 WHERE username = 'eve'", string(old))
	stored := func() string { return r.text("SELECT password_hash FROM users WHERE username = 'eve'") }

	r.anyone().post("/api/v1/auth/login", `{"username":"eve","password":"a wrong one"}`).is(401)
	if got := stored(); got != string(old) {
		t.Errorf("a wrong password made %q of the hash", got)
	}
	r.signIn("eve", password)
	renewed := stored()
	if !strings.HasPrefix(renewed, "$argon2id$") {
		t.Errorf("the hash is %q after a sign-in", renewed)
	}
	r.signIn("eve", password)
	if got := stored(); got != renewed {
		t.Errorf("a second sign-in made %q of %q", got, renewed)
	}
	session.get("/api/v1/me").ok()
	if dummyHash == renewed || auth.OutdatedHash(dummyHash) {
		t.Error("a user who does not exist costs another computation than one who does")
	}
}

// signIn signs a user in with a password.
func (r *rig) signIn(name, password string) as {
	r.t.Helper()
	var got struct{ Token string }
	r.anyone().post("/api/v1/auth/login", `{"username":"`+name+`","password":"`+password+`"}`).ok().into(&got)
	return as{r: r, header: "Authorization", token: "Bearer " + got.Token}
}
