package rig

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// notice is the name of the job, of its namespace and of its policy.
const notice = "det-notice"

// RunNotice runs the job det-notice as operators do, in a namespace of its own and with the policy of this repository,
// until the test ends. vars are variables of the job.
func (r *Rig) RunNotice(t testing.TB, vars map[string]string) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.Namespaces().Register(&api.Namespace{Name: notice}, nil); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(r.Root, "nomad", "policies", "det-notice.policy.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.ACLPolicies().Upsert(&api.ACLPolicy{Name: notice, Rules: string(rules), JobACL: &api.JobACL{Namespace: notice, JobID: notice}}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.Root, "nomad", "notice.nomad.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{`namespace = "` + notice + `"`}
	for key, value := range vars {
		all = append(all, fmt.Sprintf("%s = %q", key, strings.ReplaceAll(value, "${", "$${"))) // each node fills in what is in braces
	}
	job, err := nomad.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: string(text), Variables: strings.Join(all, "\n"), Canonicalize: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nomad.Jobs().Register(job, &api.WriteOptions{Namespace: notice}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end := (&api.WriteOptions{Namespace: notice}).WithContext(context.WithoutCancel(t.Context()))
		if _, _, err := nomad.Jobs().Deregister(notice, true, end); err != nil {
			t.Error(err)
		}
	})
}

// EvaluateNotice lets Nomad place det-notice on every node that does not run it, as docs/operate/pools.md tells operators to do it: Nomad
// 1.11.2 does not place a system job again on a node that was lost and comes back (hashicorp/nomad#27495).
func (r *Rig) EvaluateNotice(t testing.TB) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nomad.Jobs().ForceEvaluate(notice, (&api.WriteOptions{Namespace: notice}).WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
}
