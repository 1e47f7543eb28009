// Package cloudtest has the metadata services of clouds for tests: what AWS, Google and Azure document of theirs, as far
// as det-notice asks for it, with what they reject. A test decides what the cloud does with the machine.
package cloudtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Fate is what a cloud does with a machine.
type Fate struct {
	Down bool // its metadata service answers with an error

	// AWS
	Action, ActionTime string // of a spot instance; no notice without an action
	Rebalance          bool   // AWS recommends to leave the machine

	// Google
	Preempted   bool
	Maintenance string // "" for NONE

	// Azure
	Events []Event
}

// An Event is an entry of Azure's scheduled events.
type Event struct {
	EventID   string `json:"EventId"`
	EventType string
	// EventStatus is Scheduled or Started.
	EventStatus string
	Resources   []string
	NotBefore   string
}

// A Machine is the metadata service of one machine.
type Machine struct {
	cloud, name string

	mu      sync.Mutex
	fate    Fate
	version int           // of fate
	changed chan struct{} // closed when fate changes
	tokens  int           // that the service of AWS has given
}

// New returns the service of a machine of the cloud aws, google or azure.
func New(cloud, name string) *Machine {
	return &Machine{cloud: cloud, name: name, changed: make(chan struct{})}
}

// Set changes what the cloud does with the machine.
func (m *Machine) Set(f Fate) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fate = f
	m.version++
	close(m.changed)
	m.changed = make(chan struct{})
}

// Forget makes AWS's service reject the tokens that it has given.
func (m *Machine) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens++
}

func (m *Machine) now() (f Fate, version int, changed <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fate, m.version, m.changed
}

func (m *Machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, _, _ := m.now()
	if f.Down {
		http.Error(w, "the service is not available", http.StatusServiceUnavailable)
		return
	}
	switch m.cloud {
	case "aws":
		m.aws(w, r, f)
	case "google":
		m.google(w, r)
	case "azure":
		m.azure(w, r, f)
	}
}

func (m *Machine) aws(w http.ResponseWriter, r *http.Request, f Fate) {
	m.mu.Lock()
	token := fmt.Sprintf("token-%d==", m.tokens)
	m.mu.Unlock()
	const path = "/latest/api/token"
	switch {
	case r.URL.Path == path && r.Method == http.MethodPut:
		ttl, err := strconv.Atoi(r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds"))
		if err != nil || ttl < 1 || ttl > 21600 {
			http.Error(w, "the time to live is missing", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, token)
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != token:
		http.Error(w, "unauthorized", http.StatusUnauthorized)
	case r.URL.Path == "/latest/meta-data/spot/instance-action" && f.Action != "":
		_ = json.NewEncoder(w).Encode(map[string]string{"action": f.Action, "time": f.ActionTime})
	case r.URL.Path == "/latest/meta-data/events/recommendations/rebalance" && f.Rebalance:
		_ = json.NewEncoder(w).Encode(map[string]string{"noticeTime": time.Now().UTC().Format(time.RFC3339)})
	default:
		http.Error(w, "not found", http.StatusNotFound)
	}
}

func (m *Machine) google(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Metadata-Flavor", "Google")
	if r.Header.Get("Metadata-Flavor") != "Google" {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	q := r.URL.Query()
	f, version, changed := m.now()
	if q.Get("wait_for_change") == "true" && q.Get("last_etag") == etag(version) {
		seconds, err := strconv.Atoi(q.Get("timeout_sec"))
		if err != nil {
			http.Error(w, "timeout_sec", http.StatusBadRequest)
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-r.Context().Done():
			return
		}
		f, version, _ = m.now()
	}
	w.Header().Set("ETag", etag(version))
	switch r.URL.Path {
	case "/computeMetadata/v1/instance/preempted":
		fmt.Fprint(w, map[bool]string{true: "TRUE", false: "FALSE"}[f.Preempted])
	case "/computeMetadata/v1/instance/maintenance-event":
		if f.Maintenance == "" {
			f.Maintenance = "NONE"
		}
		fmt.Fprint(w, f.Maintenance)
	default:
		http.NotFound(w, r)
	}
}

func etag(version int) string { return fmt.Sprintf("%016x", version) }

func (m *Machine) azure(w http.ResponseWriter, r *http.Request, f Fate) {
	q := r.URL.Query()
	switch {
	case r.Header.Get("Metadata") != "true" || q.Get("api-version") == "":
		http.Error(w, `{"error":"Bad request. Required metadata header not specified"}`, http.StatusBadRequest)
	case r.URL.Path == "/metadata/instance/compute/name" && q.Get("format") == "text":
		fmt.Fprint(w, m.name)
	case r.URL.Path == "/metadata/scheduledevents":
		list := f.Events
		if list == nil {
			list = []Event{}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"DocumentIncarnation": 1, "Events": list})
	default:
		http.Error(w, `{"error":"Not found"}`, http.StatusNotFound)
	}
}
