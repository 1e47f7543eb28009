package accounts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/audit"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxJobSession is the longest session of a Nomad job; afterwards the job signs in again.
const maxJobSession = 12 * time.Hour

// A SignedJob is the Nomad job that a workload identity proves.
type SignedJob struct {
	Namespace, JobID string
	Until            time.Time // when the identity expires
}

// JobSignIn lets Nomad jobs that are no tasks of this cluster, such as those of CI, sign in as service accounts.
type JobSignIn struct {
	Jobs   []JobUser
	Verify func(ctx context.Context, jwt string) (SignedJob, error)
}

// A JobUser names the service account as which a Nomad job signs in.
type JobUser struct{ Namespace, Job, User string }

func (s *JobSignIn) userOf(j SignedJob) (string, error) {
	for _, u := range s.Jobs {
		if u.Namespace == j.Namespace && u.Job == j.JobID {
			return u.User, nil
		}
	}
	return "", fault.New(fault.Forbidden, "Nomad job %s in namespace %s may not sign in; job_sign_in in the master's configuration lists the jobs that may", j.JobID, j.Namespace)
}

// loginJob signs a Nomad job in, until its workload identity expires. The identity proves which job asks; the
// configuration alone decides as which service account it signs in.
func (d Deps) loginJob(ctx context.Context, c *rest.Call, req *v1.LoginJobRequest) (*v1.LoginResponse, error) {
	if err := c.NotFromElsewhere(); err != nil {
		return nil, err
	}
	s := d.Jobs
	if s == nil {
		return nil, fault.New(fault.NotFound, "Nomad jobs cannot sign in to this cluster: the master's configuration has no job_sign_in")
	}
	end, err := d.SignIns.Begin(ctx, c, "job", MaxSignInsPerAddress)
	if err != nil {
		return nil, err
	}
	defer end()
	job, err := s.Verify(ctx, req.Identity)
	if err != nil {
		return nil, err
	}
	name, err := s.userOf(job)
	if err != nil {
		return nil, err
	}
	audit.NoteUser(c, nil, name)
	u, err := UserByName(ctx, d.DB, name)
	if fault.Is(err, fault.NotFound) || err == nil && (!u.Service || !u.Active) {
		return nil, fault.New(fault.Forbidden, "Nomad job %s signs in as the service account %s, which does not exist or is not active; an admin creates it with det user create %s --service-account", job.JobID, name, name)
	}
	if err != nil {
		return nil, err
	}
	audit.NoteUser(c, &u.ID, name)
	life := min(time.Until(job.Until), maxJobSession)
	if life <= 0 {
		return nil, fault.New(fault.Unauthenticated, "the workload identity has expired")
	}
	place := PlaceOf(c)
	place.Agent = agentOf("Nomad job " + job.JobID)
	token, hash := auth.NewToken()
	if err := BeginSession(ctx, c, d.DB, u, hash, life, place); err != nil {
		return nil, err
	}
	return &v1.LoginResponse{Token: token, User: WireUser(u)}, nil
}
