package lifecycle

import (
	"strings"
	"testing"
)

func TestHopelessImage(t *testing.T) {
	for detail, want := range map[string]bool{
		"Driver Failure: Failed to pull `a/b:1`: Error response from daemon: manifest for a/b:1 not found: manifest unknown: no such image":    true,
		"Driver Failure: Failed to pull `a/b:1`: Error response from daemon: pull access denied for a/b, repository does not exist":            true,
		"Driver Failure: Failed to pull `r.example/b:1`: Error response from daemon: Head \"https://r.example/v2/\": unauthorized: no":         true,
		"Driver Failure: Failed to pull `r.example/b:1`: Error response from daemon: Get \"https://r.example/v2/\": no basic auth credentials": true,
		"Driver Failure: unable to create local docker image \"A//b\": invalid reference format":                                               true,
		"Driver Failure: Failed to pull `r.example/b:1`: Get \"https://r.example/v2/\": dial tcp: lookup r.example: no such host":              false,
		"Driver Failure: Failed to pull `a/b:1`: Get \"https://registry-1.docker.io/v2/\": dial tcp 1.2.3.4:443: i/o timeout":                  false,
		"Driver Failure: Failed to pull `a/b:1`: Error response from daemon: toomanyrequests: You have reached your pull rate limit.":          false,
		"Driver Failure: Failed to pull `a/b:1`: context deadline exceeded":                                                                    false,
		"Driver Failure: failed to create container: unauthorized":                                                                             false,
		"exit code 1": false,
		"":            false,
	} {
		if got := hopelessImage(detail); got != want {
			t.Errorf("%q is called hopeless: %t, want %t", detail, got, want)
		}
	}
}

// TestAnImageThatCannotBeHad tests that an image that can never be pulled ends a trial at once,
// and that a temporary failure does not.
func TestAnImageThatCannotBeHad(t *testing.T) {
	attempt := func(detail string) Step {
		return Advance(Allocation{ID: "1.t.1", State: Pulling, SubmittedAt: ago(t, "10s"), Members: []Member{{
			NodeID: "id0", NodeName: "n0", Nomad: NomadFailed, NomadEndedAt: ago(t, "1s"), NomadDetail: detail,
		}}}, now, DefaultTiming())
	}
	end := attempt("Driver Failure: Failed to pull `a/b:1`: manifest unknown")
	if end.Outcome != Failed || !end.Final || !end.Unstarted {
		t.Errorf("an image that does not exist ends the attempt as %+v", end)
	}
	trial := Trial{State: Active, MaxRestarts: 5}
	if s := AfterExit(trial, end); s.State != Errored || s.Again || s.Restarts != 0 || s.Error != end.ExitReason {
		t.Errorf("an image that does not exist leaves the trial as %+v", s)
	}
	end = attempt("Driver Failure: Failed to pull `a/b:1`: i/o timeout")
	if end.Outcome != Unplaced || len(end.Avoid) != 1 {
		t.Errorf("a registry that is away ends the attempt as %+v", end)
	}
	if s := AfterExit(trial, end); !s.Again {
		t.Errorf("a registry that is away leaves the trial as %+v", s)
	}
}

// TestALongPullIsNoLateStart tests that the time limit of a runner's claim begins at its start,
// however long its image was pulled.
func TestALongPullIsNoLateStart(t *testing.T) {
	attempt := func(started string) Step {
		return Advance(Allocation{ID: "1.t.1", State: Pulling, SubmittedAt: ago(t, "20m"), Members: []Member{{
			NodeID: "id0", NodeName: "n0", Nomad: NomadRunning, Started: true, StartedAt: ago(t, started),
		}}}, now, DefaultTiming())
	}
	if s := attempt("1s"); s.Kill != "" || s.State != Starting {
		t.Errorf("a container that has just started is dealt with by %+v", s)
	}
	if s := attempt("3m"); s.State != Starting && s.Kill == "" {
		t.Errorf("a container whose runner does not come is dealt with by %+v", s)
	}
	late := Advance(Allocation{ID: "1.t.1", State: Starting, SubmittedAt: ago(t, "20m"), Members: []Member{{
		NodeID: "id0", NodeName: "n0", Nomad: NomadRunning, Started: true, StartedAt: ago(t, "3m"),
	}}}, now, DefaultTiming())
	if late.Kill == "" || late.Cause != Overdue {
		t.Errorf("a runner that does not come to the gate is dealt with by %+v", late)
	}
}

func TestHowNodesGetTheDefaultImage(t *testing.T) {
	const failure = "Driver Failure: Failed to pull `%s`: API error (404): pull access denied"
	if got := withHint(strings.Replace(failure, "%s", "detent-small:0.1.0", 1)); !strings.Contains(got, "./justw images") || !strings.HasPrefix(got, "Driver Failure") {
		t.Error(got)
	}
	if other := strings.Replace(failure, "%s", "busybox:1", 1); withHint(other) != other {
		t.Error(withHint(other))
	}
}
