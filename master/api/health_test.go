package api

import (
	"bytes"
	"testing"

	"github.com/detent-ml/detent/master/risks"
)

// TestOnlyAdminsReadWarnings: the settings that weaken security tell an attacker where to begin.
func TestOnlyAdminsReadWarnings(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Risks = []risks.Risk{{Setting: "blank_passwords", Warning: "whoever knows a name signs in"}}
	})
	admin := r.user("admin").get("/health").ok()
	if at(t, admin.tree(), "warnings.0.setting") != "blank_passwords" || at(t, admin.tree(), "warnings.0.warning") != "whoever knows a name signs in" {
		t.Errorf("an administrator reads %s", admin.body)
	}
	program := r.placeOf("admin", yaml(), 1).session()
	for who, caller := range map[string]as{"nobody": r.anyone(), "another user": r.user("determined"), "a task of an administrator": program, "a wrong token": {r: r, header: "Authorization", token: "Bearer x"}} {
		if got := caller.get("/health").ok(); bytes.Contains(got.body, []byte("warning")) {
			t.Errorf("%s reads %s", who, got.body)
		}
	}
}
