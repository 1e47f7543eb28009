package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
)

const (
	// keysAge is how long the keys are used before they are fetched again. Nomad revokes a
	// key by removing it from its answer.
	keysAge = 10 * time.Minute
	// keysPause is the minimum time between two fetches that unknown keys cause.
	keysPause = 3 * time.Second
	// leeway is the tolerated difference between clocks.
	leeway = 30 * time.Second
	// maxJWT is the maximum size of a token: anybody can send one.
	maxJWT = 16 << 10
)

// keys caches the public keys of Nomad's workload identities.
type keys struct {
	mu      sync.Mutex
	set     jose.JSONWebKeySet
	fetched time.Time // when set was fetched
	asked   time.Time // when the last fetch began
}

// claims are the claims of a workload identity.
type claims struct {
	jwt.Claims
	Namespace    string `json:"nomad_namespace"`
	JobID        string `json:"nomad_job_id"`
	AllocationID string `json:"nomad_allocation_id"`
	Task         string `json:"nomad_task"`
}

// VerifyIdentity checks the signature, audience and lifetime of a workload identity, and
// reads its allocation from Nomad. The caller must check whether the attempt may run.
func (c *Cluster) VerifyIdentity(ctx context.Context, token string) (task.Workload, error) {
	said, sub, err := c.verify(ctx, token, jobspecs.Audience)
	if err != nil {
		return task.Workload{}, err
	}
	if sub[5] != jobspecs.IdentityName {
		return task.Workload{}, fault.New(fault.Unauthenticated, "the workload identity is not accepted: its subject %q is not one of a Detent task", said.Subject)
	}
	group := sub[3]
	w := task.Workload{Namespace: said.Namespace, JobID: said.JobID, Group: group, NomadAllocID: said.AllocationID}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	a, _, err := c.api.Allocations().Info(w.NomadAllocID, c.query(call, w.Namespace))
	if statusOf(err) == http.StatusNotFound {
		return task.Workload{}, fault.New(fault.Unauthenticated, "the workload identity belongs to Nomad allocation %s, which no longer exists", w.NomadAllocID)
	}
	if err != nil {
		return task.Workload{}, fault.Wrap(fault.Unavailable, err, "could not ask Nomad about allocation %s; try again", w.NomadAllocID)
	}
	if a.JobID != w.JobID || a.TaskGroup != w.Group {
		return task.Workload{}, fault.New(fault.Unauthenticated, "the workload identity names Nomad job %s and group %s, but its allocation belongs to job %s and group %s", w.JobID, w.Group, a.JobID, a.TaskGroup)
	}
	w.NodeID = a.NodeID
	// All allocations of jobs with this id, also of an earlier registration.
	all, _, err := c.api.Jobs().Allocations(w.JobID, true, c.query(call, w.Namespace))
	if err != nil {
		return task.Workload{}, fault.Wrap(fault.Unavailable, err, "could not ask Nomad about the allocations of job %s; try again", w.JobID)
	}
	w.FirstOfGroup = a.PreviousAllocation == ""
	for _, other := range all {
		if other.TaskGroup == a.TaskGroup && other.ID != a.ID && other.CreateIndex <= a.CreateIndex {
			w.FirstOfGroup = false
		}
	}
	return w, nil
}

// RegionOf returns the region of Nomad that a workload identity names, without verifying the identity;
// "" if it names none.
func RegionOf(token string) string {
	if len(token) > maxJWT {
		return ""
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.EdDSA})
	if err != nil {
		return ""
	}
	var said jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&said); err != nil {
		return ""
	}
	region, _, _ := strings.Cut(said.Subject, ":")
	return region
}

// A SignedJob is the Nomad job that a workload identity names. The job is not one of this cluster's tasks.
type SignedJob struct {
	Namespace, JobID string // a child of a periodic or dispatched job has the id of its parent
	Until            time.Time
}

// VerifyJob checks the signature, audience and lifetime of a workload identity of any job, and that its
// allocation still runs.
func (c *Cluster) VerifyJob(ctx context.Context, token, audience string) (SignedJob, error) {
	said, _, err := c.verify(ctx, token, audience)
	if err != nil {
		return SignedJob{}, err
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	a, _, err := c.api.Allocations().Info(said.AllocationID, c.query(call, said.Namespace))
	switch status := statusOf(err); {
	case status == http.StatusNotFound:
		return SignedJob{}, fault.New(fault.Unauthenticated, "the workload identity belongs to Nomad allocation %s, which no longer exists", said.AllocationID)
	case status == http.StatusForbidden:
		return SignedJob{}, fault.New(fault.Unavailable, "the master's token may not read jobs of Nomad's namespace %s; its policy needs the capability read-job there", said.Namespace)
	case err != nil:
		return SignedJob{}, fault.Wrap(fault.Unavailable, err, "could not ask Nomad about allocation %s; try again", said.AllocationID)
	case a.Namespace != said.Namespace || a.JobID != said.JobID && !strings.HasPrefix(a.JobID, said.JobID+"/"):
		return SignedJob{}, fault.New(fault.Unauthenticated, "the workload identity names Nomad job %s, but its allocation belongs to job %s", said.JobID, a.JobID)
	case a.ClientTerminalStatus() || a.ServerTerminalStatus():
		return SignedJob{}, fault.New(fault.Unauthenticated, "the workload identity belongs to Nomad allocation %s, which has ended", said.AllocationID)
	}
	return SignedJob{said.Namespace, said.JobID, said.Expiry.Time()}, nil
}

// verify checks a token for an audience, but not its allocation. It returns the claims and the parts of
// the subject: region, namespace, job, group, task and name of the identity.
func (c *Cluster) verify(ctx context.Context, token, audience string) (claims, []string, error) {
	refuse := func(format string, args ...any) (claims, []string, error) {
		return claims{}, nil, fault.New(fault.Unauthenticated, "the workload identity is not accepted: "+format, args...)
	}
	if len(token) > maxJWT {
		return refuse("it is longer than %d bytes", maxJWT)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.EdDSA})
	if err != nil || len(parsed.Headers) != 1 {
		return refuse("it is not a token signed with RS256 or EdDSA")
	}
	key, err := c.key(ctx, parsed.Headers[0].KeyID)
	if err != nil {
		return claims{}, nil, err
	}
	if key == nil {
		return refuse("it is signed by a key that is not this Nomad's")
	}
	var said claims
	if err := parsed.Claims(key, &said); err != nil {
		return refuse("its signature does not match")
	}
	if said.Expiry == nil {
		return refuse("it never expires")
	}
	if err := said.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{audience}, Time: c.now()}, leeway); err != nil {
		return refuse("%v", err)
	}
	sub := strings.Split(said.Subject, ":")
	if c.cfg.Region != "" && sub[0] != c.cfg.Region {
		return refuse("it is of Nomad region %q, not %q", sub[0], c.cfg.Region)
	}
	if len(sub) != 6 || sub[1] != said.Namespace || sub[2] != said.JobID || sub[4] != said.Task {
		return refuse("its subject %q does not match its claims", said.Subject)
	}
	return said, sub, nil
}

// key returns Nomad's key with this id; nil if Nomad has no such key.
func (c *Cluster) key(ctx context.Context, id string) (*jose.JSONWebKey, error) {
	k := &c.keys
	k.mu.Lock()
	defer k.mu.Unlock()
	now := c.now()
	found := k.find(id)
	stale := now.Sub(k.fetched) >= keysAge
	if found != nil && !stale {
		return found, nil
	}
	if now.Sub(k.asked) < keysPause {
		if found != nil {
			return found, nil
		}
		// The key may be new. A rejected runner would exit, so ask it to retry.
		return nil, fault.New(fault.Unavailable, "the workload identity is signed by an unknown key; Nomad's keys are read again in %v, try again then", keysPause)
	}
	k.asked = now
	set, err := c.fetchKeys(ctx)
	if err != nil {
		if found != nil {
			return found, nil // use the old keys while Nomad does not answer
		}
		k.asked = time.Time{}
		return nil, fault.Wrap(fault.Unavailable, err, "Nomad's keys cannot be read; try again")
	}
	k.set, k.fetched = set, now
	return k.find(id), nil
}

func (k *keys) find(id string) *jose.JSONWebKey {
	return each.Find(k.set.Keys, func(key *jose.JSONWebKey) bool { return key.KeyID == id && id != "" })
}

func (c *Cluster) fetchKeys(ctx context.Context) (jose.JSONWebKeySet, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	body, err := c.api.Raw().Response("/.well-known/jwks.json", c.query(call, ""))
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	defer body.Close()
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(body).Decode(&set); err != nil {
		return set, fmt.Errorf("nomad's keys: %w", err)
	}
	return set, nil
}
