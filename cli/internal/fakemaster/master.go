// Package fakemaster is a master in memory for the tests of det.
//
// It speaks the wire of package v1 and knows just enough to be asked about what
// det asks: an experiment that is activated has run at once, with a trial, its
// metrics, its log and a checkpoint. The scripts that run against it run against a
// real master too, which keeps it honest.
package fakemaster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Master is the fake. Its fields may be changed before it serves, or within Do.
type Master struct {
	mu sync.Mutex

	Users       []*User
	Tokens      map[string]string // token → username
	Experiments []*Experiment
	Commands    []*v1.Command
	Interactive []*Interactive
	Workspaces  []v1.Workspace
	Projects    []v1.Project
	Agents      []v1.Agent
	Tasks       map[string]v1.AllocationSummary
	Jobs        []v1.RBACJob
	Pools       []v1.ResourcePool
	Logs        map[string][]v1.TaskLogsResponse // by task

	// Now is the time of the fake; it moves a second with each experiment.
	Now time.Time
	// Requests are the calls so far: method, path, query.
	Requests []string
	// Bodies are the bodies of the calls that had one, by method and path.
	Bodies map[string][]byte
	// Fail, when it is set, may answer a call with an error first.
	Fail func(r *http.Request) error

	mux      *http.ServeMux
	signedIn int
}

// User is a user with the hash of a password.
type User struct {
	v1.User
	Hash string
}

// Experiment is an experiment with what belongs to it.
type Experiment struct {
	v1.Experiment
	Trials      []v1.Trial
	Workloads   map[int][]v1.WorkloadContainer
	Metrics     map[int][]v1.MetricsReport
	Checkpoints []v1.Checkpoint
	Files       []v1.File
}

// New is a master as it is on its first day.
func New() *Master {
	m := &Master{
		Tokens: map[string]string{}, Tasks: map[string]v1.AllocationSummary{},
		Logs: map[string][]v1.TaskLogsResponse{}, Bodies: map[string][]byte{},
		Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
	}
	for i, name := range []string{"admin", "determined"} {
		m.Users = append(m.Users, &User{User: v1.User{ID: i + 1, Username: name, Active: true, Admin: name == "admin"}})
	}
	m.Workspaces = []v1.Workspace{{ID: 1, Name: "Uncategorized", NumProjects: 1, Immutable: true, Username: "admin", UserID: 1,
		State: v1.WorkspaceStateUnspecified, DefaultComputePool: "default", DefaultAuxPool: "default"}}
	m.Projects = []v1.Project{{ID: 1, Name: "Uncategorized", Key: "UNC", WorkspaceID: 1, Immutable: true, Username: "admin", UserID: 1,
		State: v1.WorkspaceStateUnspecified, WorkspaceName: "Uncategorized"}}
	m.Pools = []v1.ResourcePool{{Name: "default", DefaultComputePool: true, DefaultAuxPool: true, NumAgents: 1, SlotsAvailable: 2,
		SchedulerType: v1.SchedulerTypePriority, SlotType: v1.DeviceTypeCpu, Type: v1.ResourcePoolTypeStatic, SchedulerFittingPolicy: v1.FittingPolicyBest,
		Description: "this machine"}}
	m.routes()
	return m
}

// Do changes the master while it serves.
func (m *Master) Do(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

// Calls are the requests so far.
func (m *Master) Calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.Requests...)
}

// Body is the last body of a call, such as "POST /api/v1/experiments".
func (m *Master) Body(call string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Bodies[call]
}

// ServeHTTP is http.Handler's.
func (m *Master) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	call := r.Method + " " + r.URL.Path
	if q := r.URL.RawQuery; q != "" {
		m.Requests = append(m.Requests, call+"?"+q)
	} else {
		m.Requests = append(m.Requests, call)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		writeError(w, err)
		return
	}
	if len(body) > 0 {
		m.Bodies[call] = body
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	if m.Fail != nil {
		if err := m.Fail(r); err != nil {
			writeError(w, err)
			return
		}
	}
	m.mux.ServeHTTP(w, r)
}

var statuses = map[fault.Code]int{
	fault.Internal: 500, fault.Invalid: 400, fault.Unauthenticated: 401, fault.Forbidden: 403, fault.NotFound: 404,
	fault.Conflict: 409, fault.TooLarge: 413, fault.TooMany: 429, fault.Unavailable: 503, fault.Unimplemented: 501,
}

func writeError(w http.ResponseWriter, err error) {
	code := fault.CodeOf(err)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statuses[code])
	_ = json.NewEncoder(w).Encode(map[string]any{
		"error": map[string]any{"code": 0, "reason": code.String(), "error": err.Error()}, "message": err.Error(),
	})
}

func send(w http.ResponseWriter, msg any) {
	raw, err := v1.Marshal(msg)
	if err != nil {
		writeError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(raw)
}

// stream writes records the way streams do, each flushed on its own.
func stream[T any](w http.ResponseWriter, records []T) {
	w.Header().Set("Content-Type", "application/json")
	for _, r := range records {
		raw, err := v1.Marshal(r)
		if err != nil {
			return
		}
		fmt.Fprintf(w, "{\"result\":%s}\n", raw)
		w.(http.Flusher).Flush()
	}
}

// who is the user of a call, nil for nobody.
func (m *Master) who(r *http.Request) *User {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	return m.user(m.Tokens[token])
}

func (m *Master) user(name string) *User {
	for _, u := range m.Users {
		if u.Username == name {
			return u
		}
	}
	return nil
}

// signIn makes a token for a user.
func (m *Master) signIn(u *User) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", u.Username, m.signedIn))
	m.signedIn++
	token := "v2.public." + hex.EncodeToString(sum[:8])
	m.Tokens[token] = u.Username
	return token
}

// decode reads a body.
func decode[T any](r *http.Request) (T, error) {
	var msg T
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = v1.Unmarshal(body, &msg)
	}
	if err != nil {
		err = fault.New(fault.Invalid, "%w", err)
	}
	return msg, err
}
