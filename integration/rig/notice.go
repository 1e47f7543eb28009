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

// RunNotice runs the job det-notice as operators do, in a namespace of its own and with the policy of this repository,
// until the test ends. vars are variables of the job.
func (r *Rig) RunNotice(t testing.TB, vars map[string]string) {
	t.Helper()
	const name = "det-notice" // of job, namespace and policy
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.Namespaces().Register(&api.Namespace{Name: name}, nil); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(r.Root, "nomad", "policies", "det-notice.policy.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nomad.ACLPolicies().Upsert(&api.ACLPolicy{Name: name, Rules: string(rules), JobACL: &api.JobACL{Namespace: name, JobID: name}}, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(r.Root, "nomad", "notice.nomad.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{`namespace = "` + name + `"`}
	for key, value := range vars {
		all = append(all, fmt.Sprintf("%s = %q", key, strings.ReplaceAll(value, "${", "$${"))) // each node fills in what is in braces
	}
	job, err := nomad.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: string(text), Variables: strings.Join(all, "\n"), Canonicalize: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nomad.Jobs().Register(job, &api.WriteOptions{Namespace: name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end := (&api.WriteOptions{Namespace: name}).WithContext(context.WithoutCancel(t.Context()))
		if _, _, err := nomad.Jobs().Deregister(name, true, end); err != nil {
			t.Error(err)
		}
	})
}
