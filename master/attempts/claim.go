package attempts

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// taskSession is the maximum lifetime of the session with which a program acts for its owner.
// The loop deletes the session when the attempt ends.
const taskSession = 30 * 24 * time.Hour

// minNonce prevents guessing a nonce, from which the tokens are derived.
const minNonce = 20

// An Identity verifies the workload identity that a runner presents, and returns the Nomad
// allocation that it belongs to. It is the cluster's side of the gate.
type Identity interface {
	// VerifyIdentity checks signature, audience and lifetime.
	VerifyIdentity(ctx context.Context, jwt string) (task.Workload, error)
}

// claim is the gate (docs/rfd/0004-the-gate.md). No program of a task starts before the master
// has accepted the claim, and the master accepts one process for each member of an attempt.
func (d Deps) claim(ctx context.Context, c *rest.Call, req *v1.ClaimRequest) (*v1.ClaimResponse, error) {
	id := c.Param("id")
	switch {
	case req.AllocationID != "" && req.AllocationID != id:
		return nil, fault.New(fault.Invalid, "allocationId: the path has %s, the body %s", id, req.AllocationID)
	case len(req.Nonce) < minNonce:
		return nil, fault.New(fault.Invalid, "nonce: expected a secret of at least %d characters that identifies the claiming process", minNonce)
	case !isFingerprint(req.Certificate):
		return nil, fault.New(fault.Invalid, "gatewayCertificate: expected the SHA-256 of a certificate, 64 hexadecimal digits in lower case, found %.80q", req.Certificate)
	}
	w, err := d.Identity.VerifyIdentity(ctx, req.Identity)
	if err != nil {
		return nil, err
	}
	if err := d.checkIdentity(w, id, req.Rank); err != nil {
		return nil, err
	}
	name := id + "/" + strconv.Itoa(req.Rank)
	token, tokenHash := auth.DerivedToken(req.Nonce, "attempt "+name)
	session, sessionHash := auth.DerivedToken(req.Nonce, "session "+name)
	got, err := Accept(ctx, d.DB, Claim{AllocationID: id, Rank: req.Rank, NomadAllocID: w.NomadAllocID, FirstOfGroup: w.FirstOfGroup, NodeID: w.NodeID,
		Namespace: w.Namespace, Pools: d.poolsIn(w),
		Nonce: hex.EncodeToString(auth.HashToken(req.Nonce)), Address: req.Address, Ports: req.Ports, Certificate: req.Certificate,
		TokenHash: tokenHash, SessionHash: sessionHash, SessionLife: taskSession})
	if err != nil {
		if fault.Is(err, fault.Conflict) {
			d.Log.Warn("rejected a runner's claim", "allocation_id", id, "rank", req.Rank, "nomad_alloc", w.NomadAllocID, "reason", err)
		}
		return nil, err
	}
	d.Bus.Publish(Topic(id))
	d.Reported()
	attempt, err := task.Read(got.Row)
	if err != nil {
		return nil, err
	}
	if got.Token = token; got.ActsForOwner {
		got.Session = session
	}
	site := d.site()
	spec, err := site.Spec(attempt, got.Claimed, d.Nodes.Pools.Named(got.Pool))
	spec.Devices = d.Nodes.Devices(got.Pool, got.Node, got.SlotIDs, got.Devices)
	return &v1.ClaimResponse{Token: token, Spec: spec}, err
}

// isFingerprint reports whether s is the fingerprint of a certificate. Runners of the release
// before certificates send none.
func isFingerprint(s string) bool {
	raw, err := hex.DecodeString(s)
	return s == "" || err == nil && len(raw) == sha256.Size && s == strings.ToLower(s)
}

// checkIdentity rejects a claim that a workload identity does not permit.
func (d Deps) checkIdentity(w task.Workload, id string, rank int) error {
	job, group := jobspecs.JobID(id), jobspecs.GroupName(rank)
	switch {
	case len(d.poolsIn(w)) == 0 && w.Region != "":
		return fault.New(fault.Forbidden, "the identity names Nomad namespace %s in region %s, where this cluster has no pool", w.Namespace, w.Region)
	case len(d.poolsIn(w)) == 0:
		return fault.New(fault.Forbidden, "the identity names Nomad namespace %s; tasks of this cluster run in %s", w.Namespace, strings.Join(d.namespaces(), ", "))
	case w.JobID != job:
		return fault.New(fault.Forbidden, "the identity names job %s, but attempt %s runs as job %s", w.JobID, id, job)
	case w.Group != group:
		return fault.New(fault.Forbidden, "the identity names group %s, but rank %d runs as group %s", w.Group, rank, group)
	}
	return nil
}

// namespaces are the Nomad namespaces of the cluster's jobs, the default one first.
func (d Deps) namespaces() []string {
	if len(d.Namespaces) == 0 {
		return []string{"default"}
	}
	return d.Namespaces
}

// poolsIn names the pools whose jobs run in a process's namespace and region. Otherwise a user who may
// start jobs in one pool's namespace could claim the attempts of another pool.
func (d Deps) poolsIn(w task.Workload) []string {
	own := d.namespaces()[0]
	var names []string
	for _, p := range d.Nodes.Pools {
		if p.Region == w.Region && cmp.Or(p.Namespace, own) == w.Namespace {
			names = append(names, p.Name)
		}
	}
	return names
}

// site is the settings for all tasks, with the hashes of the files that tasks fetch.
func (d Deps) site() task.Site {
	s := d.Site
	if d.Files.HarnessDir != "" {
		sha, err := d.Files.HarnessHash()
		if err != nil {
			d.Log.Error("cannot serve the Python package for tasks", "error", err)
		} else {
			s.Harness = "/harness/" + sha + ".tar.gz"
		}
	}
	if d.Files.DetPath != "" {
		sha, err := d.Files.DetHash()
		if err != nil {
			d.Log.Error("cannot serve det for tasks", "error", err)
		} else {
			s.Det = "/cli/" + sha + "/" + artifacts.Platform()
		}
	}
	return s
}
