package task

import (
	"fmt"
	"path"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
)

// A Runner is the det-runner that masters serve for a platform.
type Runner struct {
	SHA256     string
	ArchiveSHA string // SHA-256 of the tar with it, for images
	RemoverSHA string // SHA-256 of the det-remover for the same platform
	Target     string // <os>-<arch>
}

// removers returns the SHA-256 of det-remover by platform.
func (s *Site) removers() map[string]string {
	out := map[string]string{s.Runner.Target: s.Runner.RemoverSHA}
	for _, r := range s.Runners {
		out[r.Target] = r.RemoverSHA
	}
	return out
}

// FetchURL is the address of a master from which a new task fetches its runner.
func (s *Site) FetchURL() string {
	if s.Fetch == nil {
		return s.TaskURLs[0]
	}
	return s.Fetch()
}

// servedFor returns the runner that masters serve for a platform; nil if there is none. Without a platform it is that of the masters' own.
func (s *Site) servedFor(platform string) *Runner {
	if platform == "" || platform == s.Runner.Target {
		return &s.Runner
	}
	return each.Find(s.Runners, func(r *Runner) bool { return r.Target == platform })
}

// runnerOn returns the runner for a platform, as a file or in a tar.
func (s *Site) runnerOn(platform string, archive bool) (jobspecs.Runner, error) {
	r := s.servedFor(platform)
	if r == nil {
		return jobspecs.Runner{}, fault.New(fault.Invalid, "the master has no det-runner for %s: put det-runner-%[1]s beside its det-runner", platform)
	}
	url := fmt.Sprintf("%s/runner/%s/%s", s.FetchURL(), r.SHA256, r.Target)
	if archive {
		return jobspecs.Runner{Archive: true, SHA256: r.ArchiveSHA, URL: url + ".tar"}, nil
	}
	return jobspecs.Runner{SHA256: r.SHA256, URL: url}, nil
}

// placeRunners sets the job's runner, for the master's platform, and the runners of members on nodes that have it, or that are
// of other platforms. After an attempt that did not start, all nodes fetch the runner, because the reason may have been the file on the node.
func (s *Site) placeRunners(j *Job, members []Placed, of *pool.Pool, fetch bool) (err error) {
	if j.Runner, err = s.runnerOn("", of.HasImages()); err != nil {
		return err
	}
	for i, m := range members {
		r, err := s.runnerOn(m.Platform, of.HasImages())
		if err != nil {
			return fmt.Errorf("node %s: %w", m.NodeName, err)
		}
		if !fetch && s.hasRunner(m, of, j.Linked) {
			r = jobspecs.Runner{Path: m.Runner}
		}
		if r != j.Runner {
			j.Members[i].Runner = &r
		}
	}
	return nil
}

// hasRunner reports whether a member can start the runner that its node has: it must be the one that this master serves, and the file's name
// says so. Accounts other than that of Nomad's client may not reach the file, so their tasks fetch it.
func (s *Site) hasRunner(m Placed, of *pool.Pool, linked bool) bool {
	if !path.IsAbs(m.Runner) || path.Clean(m.Runner) != m.Runner || strings.ContainsAny(m.Runner, "${}:,") {
		return false
	}
	if !of.HasImages() && (linked || of.Base().TaskGroups[0].Tasks[0].User != "") {
		return false
	}
	served := s.servedFor(m.Platform)
	return served != nil && path.Base(m.Runner) == pool.RunnerName(served.SHA256)
}
