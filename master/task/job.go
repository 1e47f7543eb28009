package task

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
)

// A Job is the Nomad job of an attempt, with what the master must do before it submits the job.
type Job struct {
	jobspecs.Task
	// Grants are the rights of its Vault role, if Credentials name a role.
	Grants Grants
	// Login is the path in Vault of the credentials of its image's registry, if the master must
	// read them for the job (Variables); else "".
	Login string
}

// SignInWith adds the credentials that the master has read at Login.
func (j *Job) SignInWith(username, password string) {
	j.Variables = map[string]string{"username": username, "password": password}
}

// ports are the ports that each member gets from Nomad besides the runner's own: the label in
// the job, and the environment variable with the port.
var ports = []struct{ label, variable string }{
	{"c10d", "C10D_PORT"},
	{"dtrain_ssh", "DTRAIN_SSH_PORT"},
	{"comm1", "INTER_TRAIN_PROCESS_COMM_PORT_1"},
	{"comm2", "INTER_TRAIN_PROCESS_COMM_PORT_2"},
}

func portLabels() []string {
	labels := make([]string, len(ports))
	for i, p := range ports {
		labels[i] = p.label
	}
	return labels
}

// ingress is how an ingress reaches the attempt; nil if it offers no HTTP to users, or if the
// installation has no ingress.
func (s *Site) ingress(a *Attempt) *jobspecs.Ingress {
	if s.Ingress == nil || a.Removes() || a.Type != Notebook && a.Type != Tensorboard && !slices.ContainsFunc(a.environment().ProxyPorts, isHTTP) {
		return nil
	}
	in := s.Ingress.Ingress
	in.Host = s.Ingress.Host(a.TaskID)
	return &in
}

func isHTTP(p expconf.ProxyPort) bool { return !optional.Value(p.ProxyTCP) }

// masters are the addresses of masters for a pool's tasks. The masters' service is registered in their own
// region of Nomad, where tasks of another region do not find it.
func (s *Site) masters(of *pool.Pool) jobspecs.Masters {
	m := jobspecs.Masters{URLs: s.TaskURLs, Service: s.ServiceName, Scheme: s.Scheme, CA: s.Authority}
	if of.Region != "" {
		m.Service = ""
	}
	return m
}

// Job describes an attempt's job in a pool.
func (s *Site) Job(a Attempt, members []Placed, of *pool.Pool) (Job, error) {
	j := Job{Task: jobspecs.Task{AllocationID: a.ID, Run: a.Run, ClusterID: s.ClusterID, ClusterName: s.ClusterName, Type: a.Type,
		ExperimentID: a.ExperimentID, TrialID: a.TrialID, TaskID: a.TaskID, Owner: a.Owner, Title: a.title(),
		Pool:     *of,
		Masters:  s.masters(of),
		Services: s.Services, Ports: portLabels(), StopAfter: s.StopAfter}}
	if err := a.refused(s.CapabilitiesIn(of)); err != nil {
		return j, fmt.Errorf("it cannot run in pool %s: %w", of.Name, err)
	}
	j.Credentials, j.Grants = s.SignIn.inJob(&a), s.SignIn.grants(&a)
	if err := s.addSecrets(&j, &a); err != nil {
		return j, err
	}
	j.Links = s.links(&a)
	j.Ingress = s.ingress(&a)
	if !a.Removes() { // a task that removes files may run on any node of its pool
		j.Overlay = overlay(a.environment().Nomad)
	}
	for _, m := range members {
		j.Members = append(j.Members, m.member(&a, of))
	}
	j.Linked = a.Account != ""
	if err := s.placeRunners(&j, members, of, a.Unstarted > 0); err != nil {
		return j, err
	}
	if of.HasImages() {
		return j, s.contain(&j, &a, of)
	}
	return j, nil
}

// addSecrets adds the secrets that the attempt mounts, and the role of Vault that reads them.
func (s *Site) addSecrets(j *Job, a *Attempt) (err error) {
	if j.Secrets, err = s.Secrets.inJob(a.Secrets()); err != nil || len(j.Secrets) == 0 {
		return err
	}
	if j.Credentials == nil {
		j.Credentials = &jobspecs.Credentials{}
	}
	j.Credentials.Role, j.Credentials.Namespace = s.SignIn.Vault.Role, s.SignIn.Vault.Namespace
	return nil
}
