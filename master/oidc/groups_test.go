package oidc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestGroupsHere(t *testing.T) {
	long := strings.Repeat("x", maxGroupName+1)
	for _, c := range []struct {
		name     string
		sync     GroupSync
		theirs   []string
		want     []Group
		unusable int
	}{
		{"known", GroupSync{Known: true}, []string{"ml", "ops"}, []Group{{"ml", true}, {"ops", true}}, 0},
		{"created groups are the provider's", GroupSync{Create: true}, []string{"ml"}, []Group{{"ml", false}}, 0},
		{"a prefix", GroupSync{Create: true, Prefix: "corp-"}, []string{"ml"}, []Group{{"corp-ml", false}}, 0},
		{"a name of an administrator has no prefix", GroupSync{Create: true, Prefix: "corp-", Names: map[string]string{"x": "ml"}}, []string{"x", "y"}, []Group{{"corp-y", false}, {"ml", true}}, 0},
		{"two of one name", GroupSync{Create: true, Names: map[string]string{"x": "ml"}}, []string{"ml", "x", "ml"}, []Group{{"ml", true}}, 0},
		{"names that no group has", GroupSync{Known: true}, []string{"", " ", "a\nb", long, "a\x00", "\xff", "ml "}, []Group{{"ml", true}}, 6},
	} {
		got, unusable := c.sync.Here(c.theirs)
		if !slices.Equal(got, c.want) || unusable != c.unusable {
			t.Errorf("%s: %+v and %d unusable ones, expected %+v and %d", c.name, got, unusable, c.want, c.unusable)
		}
	}
}

func TestGroupsInAClaim(t *testing.T) {
	many := make([]any, maxGroups+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	for _, c := range []struct {
		claim any
		want  []string
		fails string
	}{
		{nil, nil, ""}, {"ml", []string{"ml"}, ""}, {[]any{"a", "b"}, []string{"a", "b"}, ""}, {many[1:], nil, ""},
		{many, nil, "over the limit"}, {[]any{strings.Repeat("x", maxGroupClaim+1)}, nil, "over the limit"}, {[]any{1.0}, nil, "a list of names"}, {map[string]any{"a": 1}, nil, "a list of names"},
		{[]any{[]any{"a"}}, nil, "a list of names"},
	} {
		got, err := groupsIn(c.claim)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%.40v: %v", c.claim, err)
			}
			continue
		}
		if err != nil || c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%.40v: %v %v", c.claim, got, err)
		}
	}
}
