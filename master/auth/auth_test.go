package auth

import (
	"bytes"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestPasswords(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 8) // what clients send: 128 hexadecimal digits
	stored := HashPassword(long)
	if strings.Contains(stored, long[:20]) || stored == HashPassword(long) {
		t.Error("the password is stored as it is, or without a salt")
	}
	for _, c := range []struct {
		stored, sent string
		good         bool
	}{
		{stored, long, true}, {stored, long[:127] + "0", false}, {stored, "", false}, {stored, strings.ToUpper(long), false},
		{"", "", true}, {"", "x", false}, {"garbage", "x", false},
		{stored[:len(stored)-1], long, false}, {argonPrefix, "x", false}, {argonPrefix + "$", "x", false}, {argonPrefix + "!$!", "x", false},
		{"$argon2id$v=19$m=4294967295,t=1,p=1$AAAA$AAAA", "x", false},
	} {
		if CheckPassword(c.stored, c.sent) != c.good {
			t.Errorf("stored %.40q, sent %.10q: not %v", c.stored, c.sent, c.good)
		}
	}
	if blank := HashPassword(""); blank != "" {
		t.Errorf("a blank password is stored as %q", blank)
	}
}

func TestTokens(t *testing.T) {
	a, ha := NewToken()
	b, _ := NewToken()
	if a == b || len(a) < 40 || !bytes.Equal(ha, HashToken(a)) {
		t.Errorf("%q %q", a, b)
	}
	x, hx := DerivedToken("secret", "attempt 1")
	y, hy := DerivedToken("secret", "attempt 1")
	z, _ := DerivedToken("secret", "attempt 2")
	w, _ := DerivedToken("other", "attempt 1")
	if x != y || !bytes.Equal(hx, hy) || x == z || x == w {
		t.Error("a derived token must follow from secret and purpose alone")
	}
}

// TestCan is the table of permissions.
func TestCan(t *testing.T) {
	admin, owner, other := Who{UserID: 1, Admin: true}, Who{UserID: 2}, Who{UserID: 3}
	task, nobody := Who{UserID: 1, Admin: true, AllocationID: "1.t.1"}, Who{}
	reader, boss := Who{UserID: 2, AccessToken: true, ReadOnly: true}, Who{UserID: 1, Admin: true, AccessToken: true, ReadOnly: true}
	program, others := Who{UserID: 2, Within: "1.t.1"}, Who{UserID: 3, Within: "2.t.1"}
	mine := Object{Kind: "experiment", OwnerID: 2}
	for _, c := range []struct {
		who  Who
		may  string
		name string
	}{
		{admin, "view create edit change administer", "an admin"}, {owner, "view create edit change", "its owner"},
		{other, "view create edit", "somebody else"}, {task, "view", "an admin's task"}, {nobody, "", "nobody"},
		{reader, "view", "its owner with a token that may only read"}, {boss, "view", "an admin with such a token"},
		{program, "view create edit change", "a program of its owner"}, {others, "view create", "a program of somebody else"},
	} {
		for _, verb := range []Verb{View, Create, Edit, Change, Administer} {
			if want := strings.Contains(c.may, string(verb)); Can(c.who, verb, mine) != want {
				t.Errorf("%s may %s: not %v", c.name, verb, want)
			}
		}
	}
}

// TestShared: an object that is shared with a workspace is viewed by those who view in it, and
// nothing else is done with it.
func TestShared(t *testing.T) {
	grants := NewGrants([][2]int{{int(Editor), 7}})
	who := Who{UserID: 2, Grants: &grants}
	for _, c := range []struct {
		name string
		verb Verb
		o    Object
		want bool
	}{
		{"elsewhere", View, Object{Kind: v1.KindCheckpoint, OwnerID: 2, WorkspaceID: 1}, false},
		{"shared", View, Object{Kind: v1.KindCheckpoint, OwnerID: 2, WorkspaceID: 1, Shared: []int{3, 7}}, true},
		{"shared with others", View, Object{Kind: v1.KindCheckpoint, OwnerID: 2, WorkspaceID: 1, Shared: []int{3}}, false},
		{"shared, to change", Change, Object{Kind: v1.KindCheckpoint, OwnerID: 2, WorkspaceID: 1, Shared: []int{7}}, false},
		{"shared, to report", Report, Object{Kind: v1.KindCheckpoint, OwnerID: 2, WorkspaceID: 1, Shared: []int{7}}, false},
		{"a model there, to edit", Edit, Object{Kind: v1.KindModel, OwnerID: 3, WorkspaceID: 7}, true},
	} {
		if got := Can(who, c.verb, c.o); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if (Object{WorkspaceID: 1, Shared: []int{1}}).sharedIn(Scope{}) {
		t.Error("a user who sees no workspace sees a shared object")
	}
}
