package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/nomad/servers/turn"
	"github.com/detent-ml/detent/plugins/notice/cloud/cloudtest"
)

const (
	soon      = time.Minute
	namespace = "det-notice"
)

// site is a real Nomad with the job of this program, and the metadata service of a cloud.
type site struct {
	*nomadtest.Agent
	machine *cloudtest.Machine
	vars    map[string]string // of the job
	binary  string
}

func startSite(t *testing.T, cloud string, o nomadtest.Options) *site {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Nomad")
	}
	s := &site{machine: cloudtest.New(cloud, "vm-7"), binary: filepath.Join(t.TempDir(), "det-notice")}
	server := httptest.NewServer(s.machine)
	t.Cleanup(server.Close)
	cmd := exec.Command("go", "build", "-o", s.binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	s.Agent = nomadtest.Start(t, o)
	if _, err := s.API.Namespaces().Register(&api.Namespace{Name: namespace}, nil); err != nil {
		t.Fatal(err)
	}
	s.vars = map[string]string{"binary": s.binary, "namespace": namespace, "metadata": server.URL}
	return s
}

// programs are the files that programs need, and nothing else.
func programs(t *testing.T, names ...string) []string {
	t.Helper()
	var files []string
	for _, name := range names {
		path := "/bin/" + name
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
		for _, word := range strings.Fields(string(out)) {
			if strings.HasPrefix(word, "/") && !slices.Contains(files, word) {
				files = append(files, word)
			}
		}
	}
	return files
}

// start runs the job as operators do, and returns its allocation's id when the program runs or has ended.
func (s *site) start(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../nomad/notice.nomad.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var vars strings.Builder
	for name, value := range s.vars {
		fmt.Fprintf(&vars, "%s = %q\n", name, value)
	}
	job, err := s.API.Jobs().ParseHCLOpts(&api.JobsParseRequest{JobHCL: string(text), Variables: vars.String(), Canonicalize: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.API.Jobs().Register(job, &api.WriteOptions{Namespace: namespace}); err != nil {
		t.Fatal(err)
	}
	here := &api.QueryOptions{Namespace: namespace}
	last, _, err := s.API.Jobs().Info("det-notice", here)
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	s.Until(t, soon, "the program to start", func() error {
		list, _, err := s.API.Jobs().Allocations("det-notice", false, here)
		if err != nil {
			return err
		}
		for _, a := range list {
			task := a.TaskStates["notice"]
			if a.DesiredStatus == api.AllocDesiredStatusRun && task != nil && !task.StartedAt.IsZero() && a.JobVersion == *last.Version {
				id = a.ID
				return nil
			}
		}
		return fmt.Errorf("%d allocations, and none of the last version of the job has started", len(list))
	})
	return id
}

// says is what the program has logged.
func (s *site) says(alloc string) string {
	text, err := os.ReadFile(filepath.Join(s.Dir, "node", "alloc", alloc, "alloc", "logs", "notice.stderr.0"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// heard waits until the program has said something.
func (s *site) heard(t *testing.T, alloc, text string) {
	t.Helper()
	s.Until(t, soon, "the program to say: "+text, func() error {
		if got := s.says(alloc); !strings.Contains(got, text) {
			return errors.New(got)
		}
		return nil
	})
}

// leaves waits until Nomad's servers, from which the masters read, have a notice; "" for none.
func (s *site) leaves(t *testing.T, at, why string) {
	t.Helper()
	since := time.Now()
	s.Until(t, soon, fmt.Sprintf("the notice %q", at), func() error {
		n, _, err := s.API.Nodes().Info(s.NodeID, nil)
		if err != nil {
			return err
		}
		if got := n.Meta["detent.leaving"]; got != at || !strings.HasSuffix(n.Meta["detent.leaving.why"], why) {
			return fmt.Errorf("it is %q, because of %q", got, n.Meta["detent.leaving.why"])
		}
		return nil
	})
	t.Logf("the servers have the notice %q after %s", at, time.Since(since).Round(time.Millisecond))
}

// give attaches the policy of the repository to the job.
func (s *site) give(t *testing.T) {
	t.Helper()
	rules, err := os.ReadFile("../../nomad/policies/det-notice.policy.hcl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.API.ACLPolicies().Upsert(&api.ACLPolicy{Name: "det-notice", Rules: string(rules),
		JobACL: &api.JobACL{Namespace: namespace, JobID: "det-notice"}}, nil); err != nil {
		t.Fatal(err)
	}
}

// The names of these tests are short, because they are part of the path of Nomad's socket, which may have 107 bytes.

// TestNotices runs the job in a Nomad with access control: without its policy the program says which one is
// missing; with it, notices come, stay while the metadata service or Nomad's client is away, and go.
func TestNotices(t *testing.T) {
	turn.Second(t)
	s := startSite(t, "aws", nomadtest.Options{ACL: true})
	s.heard(t, s.start(t), "nomad acl policy apply -namespace det-notice -job det-notice det-notice nomad/policies/det-notice.policy.hcl")
	s.give(t)
	s.vars["cloud"] = "aws" // another version of the job, for which Nomad starts the program at once
	alloc := s.start(t)
	s.heard(t, alloc, "watching for notices")
	s.leaves(t, "", "")
	at := time.Now().Add(2 * time.Minute).UTC().Format(time.RFC3339)
	taken := cloudtest.Fate{Action: "terminate", ActionTime: at}
	s.machine.Set(taken)
	s.leaves(t, at, "det-notice: AWS takes the spot machine back (terminate)")

	t.Run("the service is away", func(t *testing.T) {
		s.machine.Set(cloudtest.Fate{Down: true})
		s.heard(t, alloc, "the metadata service does not answer")
		s.machine.Set(taken)
		s.heard(t, alloc, "the metadata service answers again")
		if n := strings.Count(s.says(alloc), "does not answer"); n != 1 {
			t.Errorf("it says %d times that the service does not answer:\n%s", n, s.says(alloc))
		}
		s.leaves(t, at, "(terminate)")
	})
	t.Run("Nomad's client is away", func(t *testing.T) {
		s.Node.Kill(t)
		s.machine.Set(cloudtest.Fate{})
		s.heard(t, alloc, "Nomad does not take the notice")
		s.Node.Run(t)
		s.leaves(t, "", "")
		s.machine.Set(taken)
		s.leaves(t, at, "(terminate)")
	})
	t.Run("the token is hidden", func(t *testing.T) { s.hidden(t) })
	t.Run("the machine was stopped and started", func(t *testing.T) {
		if _, _, err := s.API.Jobs().Deregister("det-notice", false, &api.WriteOptions{Namespace: namespace}); err != nil {
			t.Fatal(err)
		}
		s.leaves(t, at, "(terminate)")
		s.machine.Set(cloudtest.Fate{})
		s.vars["cloud"] = "auto"
		s.heard(t, s.start(t), "the notice is withdrawn")
		s.leaves(t, "", "")
	})
	t.Run("its right", func(t *testing.T) { s.rights(t) })
}

// hidden: the program is root no more, and another process of its account cannot read the environment of the program, which has its token.
func (s *site) hidden(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another account")
	}
	found := false
	paths, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if exe, err := os.Readlink(path); err != nil || exe != s.binary {
			continue
		}
		found = true
		status, err := os.ReadFile(filepath.Join(filepath.Dir(path), "status"))
		if err != nil || !strings.Contains(string(status), "Uid:\t65534\t65534\t65534\t65534") || !strings.Contains(string(status), "CapEff:\t0000000000000000") {
			t.Errorf("it runs as %s, %v", status, err)
		}
		cmd := exec.Command("cat", filepath.Join(filepath.Dir(path), "environ"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.Output(); err == nil || len(out) > 0 {
			t.Errorf("another process of the account reads %q", out)
		}
	}
	if !found {
		t.Error("the program does not run")
	}
}

// rights: the policy allows nothing but to read and write nodes.
func (s *site) rights(t *testing.T) {
	token, _, err := s.API.ACLTokens().Create(&api.ACLToken{Name: "as det-notice", Type: "client", Policies: []string{"det-notice"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	as, err := api.NewClient(&api.Config{Address: s.Address, SecretID: token.SecretID})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := as.Nodes().Info(s.NodeID, nil); err != nil {
		t.Error(err)
	}
	here := &api.QueryOptions{Namespace: namespace}
	_, _, jobs := as.Jobs().Info("det-notice", here)
	_, _, vars := as.Variables().Read("nomad/jobs/det-master", nil)
	_, namespaces := as.Namespaces().Register(&api.Namespace{Name: "x"}, nil)
	_, _, submit := as.Jobs().Register(api.NewSystemJob("x", "x", "global", 50).AddTaskGroup(api.NewTaskGroup("x", 1).AddTask(api.NewTask("x", "raw_exec"))), nil)
	for what, err := range map[string]error{"read a job": jobs, "read a variable": vars, "make a namespace": namespaces, "submit a job": submit} {
		if err == nil || !strings.Contains(err.Error(), "403") && !strings.Contains(err.Error(), "Permission denied") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestNoACLs: with Google's service, in a Nomad without access control, under exec with a program that Nomad has fetched.
func TestNoACLs(t *testing.T) {
	s := startSite(t, "google", nomadtest.Options{Chroot: programs(t, "sh", "cp", "chmod")})
	files := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(s.binary))))
	t.Cleanup(files.Close)
	s.vars["driver"], s.vars["binary"] = "exec", files.URL+"/det-notice"
	alloc := s.start(t)
	s.heard(t, alloc, "cloud=Google")
	s.machine.Set(cloudtest.Fate{Preempted: true})
	s.heard(t, alloc, "the machine goes away")
	n, _, err := s.API.Nodes().Info(s.NodeID, nil)
	s.Until(t, soon, "the notice", func() error {
		if n, _, err = s.API.Nodes().Info(s.NodeID, nil); err == nil && n.Meta["detent.leaving"] == "" {
			err = errors.New("there is none")
		}
		return err
	})
	at, err := time.Parse(time.RFC3339, n.Meta["detent.leaving"])
	if left := time.Until(at); err != nil || left > 30*time.Second {
		t.Errorf("the machine goes away in %s: %v", left, err)
	}
	s.machine.Set(cloudtest.Fate{})
	s.leaves(t, "", "")
}
