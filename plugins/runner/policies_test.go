//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// watched is a task whose output is looked through for two patterns.
func watched(script string) v1.TaskSpec {
	s := sh(script)
	s.LogPatterns = []v1.LogPattern{{Policy: 0, Pattern: `.*CUDA out of memory.*`}, {Policy: 3, Pattern: `^ECC error on gpu \d$`}}
	return s
}

// early returns the reports of matches that arrived before the exit.
func (r *rig) early() []v1.LogMatchesRequest {
	r.t.Helper()
	var list []v1.LogMatchesRequest
	for _, s := range r.state.Seen() {
		if !strings.HasSuffix(s.Path, "/members/0/log_matches") {
			continue
		}
		var req v1.LogMatchesRequest
		if err := v1.Unmarshal([]byte(s.Body), &req); err != nil {
			r.t.Fatal(err)
		}
		list = append(list, req)
	}
	return list
}

func TestLinesOfLogPoliciesAreReported(t *testing.T) {
	r := newRig(t, watched(`echo '{"log_policies": [{"pattern": ".*CUDA out of memory.*"}]}'
echo fine; echo "[rank=1] ERROR: ECC error on gpu 3" >&2; echo RuntimeError: CUDA out of memory; echo again: CUDA out of memory; exit 3`))
	r.start("run").expect(3)
	want := []v1.LogMatch{{Policy: 0, Line: "RuntimeError: CUDA out of memory"}, {Policy: 3, Line: "ECC error on gpu 3"}}
	got := r.exit().LogMatches
	slices.SortFunc(got, func(a, b v1.LogMatch) int { return a.Policy - b.Policy })
	if !slices.Equal(got, want) {
		t.Errorf("the exit report has %+v, want %+v", got, want)
	}
}

func TestAMatchIsReportedWhileTheProgramRuns(t *testing.T) {
	r := newRig(t, watched(`echo `+strings.Repeat("x", 3000)+`CUDA out of memory; sleep 60`))
	p := r.start("run")
	eventually(t, "a report of the match", func() bool { return len(r.early()) > 0 })
	if m := r.early()[0].Matches; len(m) != 1 || m[0].Policy != 0 || len(m[0].Line) > 2010 || !strings.HasSuffix(m[0].Line, "x…") {
		t.Errorf("the report is %+v", m)
	}
	_ = p.cmd.Process.Kill()
	<-p.done
	if m := r.left().LogMatches; len(m) != 1 || m[0].Policy != 0 {
		t.Errorf("the record of a killed runner has %+v", m)
	}
}

func TestNoPolicyIsNoMatch(t *testing.T) {
	r := newRig(t, sh("echo CUDA out of memory"))
	r.start("run").expect(0)
	if m := r.exit().LogMatches; len(m) != 0 || len(r.early()) != 0 {
		t.Errorf("reported %+v and %+v", m, r.early())
	}
}

func TestAPatternThatCannotBeReadCostsOnlyItself(t *testing.T) {
	s := watched("echo CUDA out of memory")
	s.LogPatterns = append([]v1.LogPattern{{Policy: 7, Pattern: "("}}, s.LogPatterns...)
	r := newRig(t, s)
	r.start("run").expect(0)
	if m := r.exit().LogMatches; len(m) != 1 || m[0].Policy != 0 {
		t.Errorf("reported %+v", m)
	}
	if !r.said("a log policy is ignored") {
		t.Error("the log does not say so")
	}
}
