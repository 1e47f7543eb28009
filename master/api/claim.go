package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	"github.com/detent-ml/detent/master/task"
	v1 "github.com/detent-ml/detent/master/v1"
)

// taskSession is the maximum lifetime of the session with which a program acts for its owner.
// The loop deletes the session when the attempt ends.
const taskSession = 30 * 24 * time.Hour

// minNonce prevents guessing a nonce, from which the tokens are derived.
const minNonce = 20

func (a *API) registerClaim() {
	rest.Serve(a.router, v1.ClaimAllocation, a.claim)
	rest.ServeOn(a.router, v1.ReportLogMatches, onOwnMember(), a.memberMatches)
	rest.ServeOn(a.router, v1.ReportMemberExit, onOwnMember(), a.memberExit)
}

// claim is the gate (docs/rfd/0004-the-gate.md). No program of a task starts before the master
// has accepted the claim, and the master accepts one process for each member of an attempt.
func (a *API) claim(ctx context.Context, c *rest.Call, req *v1.ClaimRequest) (*v1.ClaimResponse, error) {
	id := c.Param("id")
	switch {
	case req.AllocationID != "" && req.AllocationID != id:
		return nil, fault.New(fault.Invalid, "allocationId: the path has %s, the body %s", id, req.AllocationID)
	case len(req.Nonce) < minNonce:
		return nil, fault.New(fault.Invalid, "nonce: expected a secret of at least %d characters that identifies the claiming process", minNonce)
	case !isFingerprint(req.Certificate):
		return nil, fault.New(fault.Invalid, "gatewayCertificate: expected the SHA-256 of a certificate, 64 hexadecimal digits in lower case, found %.80q", req.Certificate)
	}
	w, err := a.identity.VerifyIdentity(ctx, req.Identity)
	if err != nil {
		return nil, err
	}
	if err := a.checkIdentity(w, id, req.Rank); err != nil {
		return nil, err
	}
	name := id + "/" + strconv.Itoa(req.Rank)
	token, tokenHash := auth.DerivedToken(req.Nonce, "attempt "+name)
	session, sessionHash := auth.DerivedToken(req.Nonce, "session "+name)
	rows, err := a.db.Claim(ctx, store.Claim{AllocationID: id, Rank: req.Rank, NomadAllocID: w.NomadAllocID, FirstOfGroup: w.FirstOfGroup, NodeID: w.NodeID,
		Namespace: w.Namespace, Pools: a.poolsIn(w),
		Nonce: hex.EncodeToString(auth.HashToken(req.Nonce)), Address: req.Address, Ports: req.Ports, Certificate: req.Certificate,
		TokenHash: tokenHash, SessionHash: sessionHash, SessionLife: taskSession})
	if err != nil {
		if fault.Is(err, fault.Conflict) {
			a.log.Warn("rejected a runner's claim", "allocation_id", id, "rank", req.Rank, "nomad_alloc", w.NomadAllocID, "reason", err)
		}
		return nil, err
	}
	a.bus.Publish(store.AllocationTopic(id), store.TopicEvents)
	attempt, err := task.Read(rows.Row)
	if err != nil {
		return nil, err
	}
	if rows.Token = token; rows.ActsForOwner {
		rows.Session = session
	}
	site := a.site()
	spec, err := site.Spec(attempt, rows.Claimed, a.cfg.Pools.Named(rows.Pool))
	spec.Devices = a.nodes.Devices(rows.Pool, rows.Node, rows.SlotIDs, rows.Devices)
	return &v1.ClaimResponse{Token: token, Spec: spec}, err
}

// isFingerprint reports whether s is the fingerprint of a certificate. Runners of the release
// before certificates send none.
func isFingerprint(s string) bool {
	raw, err := hex.DecodeString(s)
	return s == "" || err == nil && len(raw) == sha256.Size && s == strings.ToLower(s)
}

// checkIdentity rejects a claim that a workload identity does not permit.
func (a *API) checkIdentity(w Workload, id string, rank int) error {
	job, group := jobspecs.JobID(id), jobspecs.GroupName(rank)
	switch {
	case len(a.poolsIn(w)) == 0 && w.Region != "":
		return fault.New(fault.Forbidden, "the identity names Nomad namespace %s in region %s, where this cluster has no pool", w.Namespace, w.Region)
	case len(a.poolsIn(w)) == 0:
		return fault.New(fault.Forbidden, "the identity names Nomad namespace %s; tasks of this cluster run in %s", w.Namespace, strings.Join(a.namespaces(), ", "))
	case w.JobID != job:
		return fault.New(fault.Forbidden, "the identity names job %s, but attempt %s runs as job %s", w.JobID, id, job)
	case w.Group != group:
		return fault.New(fault.Forbidden, "the identity names group %s, but rank %d runs as group %s", w.Group, rank, group)
	}
	return nil
}

// namespaces are the Nomad namespaces of the cluster's jobs, the default one first.
func (a *API) namespaces() []string {
	if len(a.cfg.Namespaces) == 0 {
		return []string{"default"}
	}
	return a.cfg.Namespaces
}

// poolsIn names the pools whose jobs run in a process's namespace and region. Otherwise a user who may
// start jobs in one pool's namespace could claim the attempts of another pool.
func (a *API) poolsIn(w Workload) []string {
	own := a.namespaces()[0]
	var names []string
	for _, p := range a.cfg.Pools {
		if p.Region == w.Region && cmp.Or(p.Namespace, own) == w.Namespace {
			names = append(names, p.Name)
		}
	}
	return names
}

// site is the settings for all tasks, with the hashes of the files that tasks fetch.
func (a *API) site() task.Site {
	s := a.cfg.Site
	if a.cfg.HarnessDir != "" {
		sha, err := a.HarnessSHA()
		if err != nil {
			a.log.Error("cannot serve the Python package for tasks", "error", err)
		} else {
			s.Harness = "/harness/" + sha + ".tar.gz"
		}
	}
	if a.cfg.DetPath != "" {
		sha, err := a.DetSHA()
		if err != nil {
			a.log.Error("cannot serve det for tasks", "error", err)
		} else {
			s.Det = "/cli/" + sha + "/" + RunnerTarget()
		}
	}
	return s
}

// memberMatches stores a runner's matches of log policies at once, so that users see them.
func (a *API) memberMatches(ctx context.Context, c *rest.Call, _ member, req *v1.LogMatchesRequest) (*v1.None, error) {
	return &v1.None{}, a.taskIO.policies.Record(ctx, logs.WriterOf(c), req.Matches)
}

// memberExit stores how a member's program ended. The first report counts.
func (a *API) memberExit(ctx context.Context, c *rest.Call, m member, req *v1.MemberExitRequest) (*v1.None, error) {
	return &v1.None{}, a.RecordExit(ctx, c.Who().TaskID, m.allocation, m.rank, *req)
}

// RecordExit stores how a member of an attempt ended, as its runner reported, or as read on its
// node.
func (a *API) RecordExit(ctx context.Context, taskID, id string, rank int, req v1.MemberExitRequest) error {
	if req.Unfit {
		if err := a.db.MarkUnfit(ctx, id, rank); err != nil {
			return err
		}
	}
	if err := a.taskIO.policies.Record(ctx, logs.Writer{TaskID: taskID, AllocationID: id, Rank: rank}, req.LogMatches); err != nil {
		return err
	}
	if err := a.db.MemberExit(ctx, id, rank, req.ExitCode, req.Reason, req.Stopped, req.LogsDone); err != nil {
		return err
	}
	a.bus.Publish(store.TopicEvents, store.AllocationTopic(id), logs.Topic(taskID))
	return nil
}
