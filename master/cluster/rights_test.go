package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/attempts/leftover"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/fault"
)

// masterPolicy has the minimal rights of a master's token.
const masterPolicy = `
namespace "default" { capabilities = ["list-jobs", "read-job", "submit-job"] }
node { policy = "read" }
`

// TestRights tests on a Nomad with access control.
func TestRights(t *testing.T) {
	r := newRig(t, nomadtest.Options{ACL: true})
	r.allow(t, "master", masterPolicy)
	r.allow(t, "bystander", `namespace "default" { capabilities = ["list-jobs"] }`)
	r.allow(t, "blind", `namespace "default" { capabilities = ["list-jobs", "read-job", "submit-job"] }`)
	t.Run("enough", func(t *testing.T) { enough(t, r) })
	t.Run("too few", func(t *testing.T) { tooFew(t, r) })
	t.Run("taken away", func(t *testing.T) { takenAway(t, r) })
	t.Run("renewed", func(t *testing.T) { renewed(t, r) })
}

func (r *rig) allow(t *testing.T, name, rules string) {
	t.Helper()
	if _, err := r.agent.API.ACLPolicies().Upsert(&api.ACLPolicy{Name: name, Rules: rules}, nil); err != nil {
		t.Fatal(err)
	}
}

func (r *rig) token(t *testing.T, policy string) *api.ACLToken {
	t.Helper()
	token, _, err := r.agent.API.ACLTokens().Create(&api.ACLToken{Name: policy, Type: "client", Policies: []string{policy}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// enough tests that all calls of the loop succeed with the minimal policy.
func enough(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine, Token: r.token(t, "master").SecretID})
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "acl.1", 2)); outcome != cluster.Done {
		t.Fatal(err)
	}
	r.waitFor(t, c, "acl.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	if w, err := c.VerifyIdentity(t.Context(), r.JWT(t, "acl.1", 0)); err != nil || !w.FirstOfGroup {
		t.Errorf("an identity: %+v, %v", w, err)
	}
	if _, err := c.WhyNotPlaced(t.Context(), "acl.1"); err != nil {
		t.Error(err)
	}
	parses(t, c)
	leftBehind(t, r, c)
	if outcome, err := c.Stop(t.Context(), "acl.1"); outcome != cluster.Done {
		t.Error(err)
	}
}

// leftBehind tests that files of allocations can be read with the right read-fs, and that the
// error without it differs from that of a missing file.
func leftBehind(t *testing.T, r *rig, blind *cluster.Cluster) {
	list, _, err := r.agent.API.Jobs().Allocations(jobspecs.JobID("acl.1"), true, nil)
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	id := list[0].ID
	if _, err := blind.LeftoverFiles(t.Context(), id, "logs"); !errors.Is(err, cluster.ErrMayNotRead) {
		t.Errorf("a folder, without the right: %v", err)
	}
	r.allow(t, "reader", `namespace "default" { capabilities = ["read-job", "read-fs"] }`)
	c := r.connect(t, cluster.Config{ClusterID: mine, Token: r.token(t, "reader").SecretID})
	if _, err := c.LeftoverFiles(t.Context(), id, "logs"); !errors.Is(err, cluster.ErrNoLeftover) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := c.LeftoverFiles(t.Context(), "00000000-1111-4222-8333-444444444444", ""); !errors.Is(err, cluster.ErrNoLeftover) {
		t.Errorf("an allocation that is not there: %v", err)
	}
	if content, _ := c.ReadLeftover(t.Context(), id, "../../main/secrets/secret", 100); strings.HasPrefix(string(content), "eyJ") { // Nomad answers with a sentence
		t.Errorf("a secret was read: %d bytes", len(content))
	}
	pipesLeftBehind(t, r, c, id)
}

// pipesLeftBehind tests that only regular files are listed, and that a pipe or a link in the place of a file delays nobody.
func pipesLeftBehind(t *testing.T, r *rig, c *cluster.Cluster, id string) {
	found, err := filepath.Glob(filepath.Join(r.agent.Dir, "*", "alloc", id, "alloc"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the folder of the allocation: %v %v", found, err)
	}
	at := func(name string) string { return filepath.Join(found[0], leftover.Folder, name) }
	err = errors.Join(os.MkdirAll(at("logs/folder.log"), 0o755), syscall.Mkfifo(at("exit.json"), 0o644), syscall.Mkfifo(at("logs/1.log"), 0o644),
		os.WriteFile(at("logs/0.log"), []byte("lines"), 0o644), os.Symlink(at("logs/0.log"), at("logs/2.log")), os.WriteFile(at("state.json"), nil, 0o644), os.WriteFile(at("logs/x.log"), nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string][]cluster.LeftoverFile{"": nil, "logs": {{Name: "0.log", Size: 5}}} {
		if files, err := c.LeftoverFiles(t.Context(), id, folder); err != nil || !slices.Equal(files, want) {
			t.Errorf("the folder %q: %v %v, want %v", folder, files, err, want)
		}
	}
	if content, err := c.ReadLeftover(t.Context(), id, "logs/0.log", 4); err != nil || string(content) != "line" {
		t.Errorf("a file: %q %v", content, err)
	}
}

// tooFew tests that the empty lists of a token without rights do not count as an empty Nomad.
func tooFew(t *testing.T, r *rig) {
	tests := []struct{ name, token, says string }{
		{"none", "none", "may not read jobs"},
		{"a token that does not exist", "00000000-1111-4222-8333-444444444444", "may not read jobs"},
		{"jobs can be listed only", r.token(t, "bystander").SecretID, "may not read jobs"},
		{"nodes cannot be read", r.token(t, "blind").SecretID, "node read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := cluster.Config{ClusterID: mine, Token: test.token}
			if test.token == "none" {
				cfg.Token, cfg.TokenFile = "", filepath.Join(t.TempDir(), "token")
				if err := os.WriteFile(cfg.TokenFile, []byte("\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := r.connect(t, cfg)
			o, err := c.Observe(t.Context(), cluster.Known{Full: true, Live: []string{"alive.1"}})
			if err != nil || len(o.Gone) > 0 || !strings.Contains(o.Alarm, test.says) {
				t.Errorf("gone %v, alarm %q, %v; want an alarm with %q", o.Gone, o.Alarm, err, test.says)
			}
			// The next observation has the alarm too.
			if o, err := c.Observe(t.Context(), cluster.Known{}); err != nil || o.Alarm == "" {
				t.Errorf("the second look has alarm %q, %v", o.Alarm, err)
			}
			if test.name == "nodes cannot be read" {
				return
			}
			if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the check's error is %v", err)
			}
			if outcome, err := c.Submit(t.Context(), r.Task(mine, "denied.1", 1)); outcome != cluster.TryAgain || !strings.Contains(fmt.Sprint(err), "submit-job") {
				t.Errorf("submitting: %v, %v", outcome, err)
			}
			if outcome, err := c.Stop(t.Context(), "denied.1"); outcome != cluster.TryAgain || err == nil {
				t.Errorf("stopping: %v, %v", outcome, err)
			}
		})
	}
}

// takenAway tests rights that are revoked while a task runs, and restored later.
func takenAway(t *testing.T, r *rig) {
	r.allow(t, "fickle", masterPolicy)
	c := r.connect(t, cluster.Config{ClusterID: mine, Token: r.token(t, "fickle").SecretID})
	if outcome, err := c.Submit(t.Context(), r.Task(mine, "kept.1", 1)); outcome != cluster.Done {
		t.Fatal(err)
	}
	r.waitFor(t, c, "kept.1", func(f cluster.TaskFact) bool { return f.Status == "running" })
	jwt := r.JWT(t, "kept.1", 0)
	r.allow(t, "fickle", `namespace "elsewhere" { policy = "read" }`)
	known := cluster.Known{Full: true, Live: []string{"kept.1"}}
	r.agent.Until(t, 30*time.Second, "the rights to be gone", func() error {
		o, err := c.Observe(t.Context(), known)
		if err != nil {
			return err
		}
		if len(o.Gone) > 0 {
			t.Errorf("a task is given up because the token lost its rights: %v", o.Gone)
		}
		if !strings.Contains(o.Alarm, "lost its rights") {
			return fmt.Errorf("the alarm is %q", o.Alarm)
		}
		return nil
	})
	if _, err := c.VerifyIdentity(t.Context(), jwt); !fault.Is(err, fault.Unavailable) {
		t.Errorf("without rights an identity is answered with %v", err)
	}
	r.allow(t, "fickle", masterPolicy)
	r.agent.Until(t, 30*time.Second, "the rights to be back", func() error {
		o, err := c.Observe(t.Context(), known)
		if err != nil || o.Alarm != "" {
			return fmt.Errorf("alarm %q, %w", o.Alarm, err)
		}
		if !slices.ContainsFunc(o.Tasks, func(f cluster.TaskFact) bool { return f.AllocationID == "kept.1" && f.Status == "running" }) || len(o.Gone) > 0 {
			t.Errorf("with its rights back it sees %+v", o)
		}
		return nil
	})
	if outcome, err := c.Stop(t.Context(), "kept.1"); outcome != cluster.Done {
		t.Error(err)
	}
}

// renewed tests that a new token in the token's file is used.
func renewed(t *testing.T, r *rig) {
	file := filepath.Join(t.TempDir(), "token")
	first := r.token(t, "master")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(first.SecretID)
	var clock clock
	c := r.connect(t, cluster.Config{ClusterID: mine, TokenFile: file, Now: clock.now})
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.agent.API.ACLTokens().Delete(first.AccessorID, nil); err != nil {
		t.Fatal(err)
	}
	write(r.token(t, "master").SecretID)
	clock.advance(time.Minute)
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("the new token is not used: %v", err)
	}
}
