package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/each"
)

// JobSignInConfig is a job of Nomad that may sign in.
type JobSignInConfig struct {
	// Nomad namespace of the job.
	Namespace string `yaml:"namespace"`
	// ID of the job. For a periodic or dispatched job, that of the parent.
	Job string `yaml:"job"`
	// Name of the service account as which the job signs in.
	User string `yaml:"user"`
}

const maxJobSignIns = 1000

// jobAudience is the audience of the identities with which jobs sign in to a cluster.
func jobAudience(cluster string) string { return "detent-sign-in:" + cluster }

func (c *Config) checkJobSignIn(k *checker) {
	if n := len(c.JobSignIn); n > maxJobSignIns {
		k.fail("job_sign_in", "expected at most %d jobs, found %d", maxJobSignIns, n)
		return
	}
	seen := map[[2]string]bool{}
	for i, j := range c.JobSignIn {
		at := fmt.Sprintf("job_sign_in[%d]", i)
		for key, value := range map[string]string{"namespace": j.Namespace, "job": j.Job, "user": j.User} {
			if value == "" || strings.ContainsAny(value, "*:") {
				k.fail(at+"."+key, "expected the whole name, without * and colons, found %q", value)
			}
		}
		if strings.HasPrefix(j.Job, jobspecs.JobPrefix()) {
			k.fail(at+".job", "jobs whose names begin with %s are tasks of users, found %q", jobspecs.JobPrefix(), j.Job)
		}
		if seen[[2]string{j.Namespace, j.Job}] {
			k.fail(at, "the job %s in the namespace %s is listed twice", j.Job, j.Namespace)
		}
		seen[[2]string{j.Namespace, j.Job}] = true
	}
}

// jobSignIn lets jobs sign in; nil if none may.
func (m *master) jobSignIn() *accounts.JobSignIn {
	if len(m.cfg.JobSignIn) == 0 {
		return nil
	}
	audience := jobAudience(m.cfg.ClusterName)
	s := &accounts.JobSignIn{Verify: func(ctx context.Context, jwt string) (accounts.SignedJob, error) {
		j, err := m.nomad.VerifyJob(ctx, jwt, audience)
		return accounts.SignedJob(j), err
	}}
	s.Jobs = each.Of(m.cfg.JobSignIn, func(j JobSignInConfig) accounts.JobUser { return accounts.JobUser(j) })
	return s
}
