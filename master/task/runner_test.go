package task

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
)

// TestRunnersOfPlatforms: each member fetches the runner of its node's platform, by the
// hash of that one.
func TestRunnersOfPlatforms(t *testing.T) {
	s := site()
	s.Runners = []Runner{{SHA256: "cc", ArchiveSHA: "dd", Target: "linux-arm64"}}
	members := []Placed{{NodeID: "1", NodeName: "unknown", SlotIDs: []int{0}}, {NodeID: "2", NodeName: "intel", SlotIDs: []int{0}, Platform: "linux-amd64"},
		{NodeID: "3", NodeName: "arm", SlotIDs: []int{0}, Platform: "linux-arm64"}}
	for _, c := range []struct {
		of       *pool.Pool
		own, arm jobspecs.Runner
	}{
		{processes(), jobspecs.Runner{SHA256: "aa", URL: "http://m:1/runner/aa/linux-amd64"}, jobspecs.Runner{SHA256: "cc", URL: "http://m:1/runner/cc/linux-arm64"}},
		{images(), jobspecs.Runner{SHA256: "bb", Archive: true, URL: "http://m:1/runner/aa/linux-amd64.tar"},
			jobspecs.Runner{SHA256: "dd", Archive: true, URL: "http://m:1/runner/cc/linux-arm64.tar"}},
	} {
		j, err := s.Job(read(t, Row{ID: "1.1", Type: "TRIAL", Slots: 3}), members, c.of)
		if err != nil {
			t.Fatal(err)
		}
		if j.Runner != c.own || j.Members[0].Runner != nil || j.Members[1].Runner != nil {
			t.Errorf("driver %s: the runner of the masters' platform is %+v", c.of.Driver, j.Runner)
		}
		if r := j.Members[2].Runner; r == nil || *r != c.arm {
			t.Errorf("driver %s: the runner of the other platform is %+v", c.of.Driver, r)
		}
	}
	s.Fetch = func() string { return "http://other:1" }
	if j, err := s.Job(read(t, Row{ID: "1.1", Type: "TRIAL", Slots: 3}), members, processes()); err != nil || j.Runner.URL != "http://other:1/runner/aa/linux-amd64" ||
		j.Members[2].Runner.URL != "http://other:1/runner/cc/linux-arm64" {
		t.Errorf("another master answers: %+v, %v", j.Runner, err)
	}
	s.Fetch = nil
	members[0].Platform = "linux-riscv64"
	if _, err := s.Job(read(t, Row{ID: "1.1", Type: "TRIAL", Slots: 3}), members, processes()); err == nil || !strings.Contains(err.Error(), "node unknown: the master has no det-runner for linux-riscv64") {
		t.Errorf("without a runner for it: %v", err)
	}
}

// TestRunnersOfNodes: a member starts the runner that its node has only if that is the one which this master serves for the node's
// platform, and if the member's account reaches it. After an attempt that did not start, every member fetches it.
func TestRunnersOfNodes(t *testing.T) {
	user := &pool.Pool{Name: "a", Driver: pool.RawExec, Job: processes().Base()}
	user.Job.TaskGroups[0].Tasks[0].User = "nobody"
	for name, c := range map[string]struct {
		has, platform string
		of            *pool.Pool
		row           Row
		starts        bool
	}{
		"its runner":                     {has: "/opt/detent/det-runner-aa", of: processes(), starts: true},
		"its runner, in images":          {has: "/opt/detent/det-runner-aa", of: images(), row: Row{Account: "1:1"}, starts: true},
		"its runner for another machine": {has: "/opt/detent/det-runner-cc", platform: "linux-arm64", of: processes(), starts: true},
		"none":                           {of: processes()},
		"that of another release":        {has: "/opt/detent/det-runner-ab", of: processes()},
		"that of another platform":       {has: "/opt/detent/det-runner-aa", platform: "linux-arm64", of: processes()},
		"a relative path":                {has: "detent/det-runner-aa", of: processes()},
		"a path with a way back":         {has: "/opt/x/../det-runner-aa", of: processes()},
		"a path that Nomad interpolates": {has: "/opt/${meta.x}/det-runner-aa", of: processes()},
		"a path that Podman divides":     {has: "/opt:x/det-runner-aa", of: images()},
		"a linked owner":                 {has: "/opt/detent/det-runner-aa", of: processes(), row: Row{Account: "1:1"}},
		"an account of the pool":         {has: "/opt/detent/det-runner-aa", of: user},
		"after one that did not start":   {has: "/opt/detent/det-runner-aa", of: processes(), row: Row{Unstarted: 1}},
	} {
		s := site()
		s.Runners = []Runner{{SHA256: "cc", ArchiveSHA: "dd", Target: "linux-arm64"}}
		c.row.ID, c.row.Type, c.row.Slots = "1.1", "TRIAL", 1
		j, err := s.Job(read(t, c.row), []Placed{{NodeID: "1", NodeName: "n", SlotIDs: []int{0}, Platform: c.platform, Runner: c.has}}, c.of)
		if err != nil {
			t.Fatal(err)
		}
		if r := j.Members[0].Runner; c.starts != (r != nil && *r == jobspecs.Runner{Path: c.has}) {
			t.Errorf("%s: the member has %+v", name, r)
		}
	}
}
