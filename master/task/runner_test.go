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
