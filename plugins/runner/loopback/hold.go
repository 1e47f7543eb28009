package loopback

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/plugins/runner/masters"
)

const (
	// wholeAnswer is the maximum size of a response that is read completely before it is
	// forwarded, so that a response that is cut off can be requested again.
	wholeAnswer = 4 << 20
	// signalSlack is how much longer than requested the preemption signal may take. Its client
	// gives up ten seconds after the requested time.
	signalSlack = 2 * time.Second
)

// A holder is the transport between the loopback server and the masters.
type holder struct {
	cfg    Config
	own    space // for requests with a token of the task
	others space

	mu        sync.Mutex
	preempted map[string]bool // paths of signals whose answer was yes, which is final
}

func newHolder(cfg Config) *holder {
	return &holder{cfg: cfg, preempted: map[string]bool{},
		own: space{inMemory: cfg.InMemory, each: cfg.MaxBody, all: cfg.MaxBodies, full: errNoRoom},
		others: space{inMemory: min(cfg.InMemory, maxOtherMemory), each: min(cfg.MaxBody, maxOtherBodies), all: min(cfg.MaxBodies, maxOtherBodies),
			full: errNoOtherRoom}}
}

// spaceOf is the space for the body of a request.
func (h *holder) spaceOf(req *http.Request) *space {
	if req.Context().Value(otherKey{}) != nil {
		return &h.others
	}
	return &h.own
}

// RoundTrip sends a request until a master answers.
func (h *holder) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("User-Agent") == "" {
		req.Header["User-Agent"] = nil // the client sent none: prevent the transport's default
	}
	if strings.EqualFold(req.Header.Get("Connection"), "upgrade") {
		return h.cfg.Masters.Send(req, nil, masters.Policy{Hold: h.cfg.Hold, Replay: true, TakeStatus: true})
	}
	kept := &body{}
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		if kept, err = keep(req.Body, h.cfg.SpillDir, h.spaceOf(req)); err != nil {
			return nil, err
		}
		req.ContentLength = kept.size
	}
	if asked, ok := signalOf(req); ok {
		return h.signal(req, asked)
	}
	resp, err := h.send(req, kept, h.policy(req))
	if err != nil {
		kept.free()
		return nil, err
	}
	resp.Body = &freeing{ReadCloser: resp.Body, kept: kept}
	return resp, nil
}

type freeing struct {
	io.ReadCloser
	kept *body
}

func (f *freeing) Close() error {
	f.kept.free()
	return f.ReadCloser.Close()
}

// policy decides how a request may be repeated.
func (h *holder) policy(req *http.Request) masters.Policy {
	p := masters.Policy{Hold: h.cfg.Hold, Replay: repeatable(req), Patience: h.cfg.Patience}
	if strings.HasPrefix(req.URL.Path, "/proxy/") {
		// Requests for another task are forwarded to it; its answers are not the master's.
		return masters.Policy{Hold: h.cfg.Hold, Replay: p.Replay, TakeStatus: true}
	}
	if waits.MatchString(req.URL.Path) {
		p.Patience = 0
	}
	return p
}

// waits matches long polls.
var waits = regexp.MustCompile(`/(all_gather|rendezvous)$`)

// reports matches the calls with which a task reports about itself, which are idempotent.
var reports = regexp.MustCompile(`^(/mlflow/api/2.0/mlflow/(runs/(update|log-[a-z]+|set-tag|search)|experiments/search)|/mlflow/api/2.0/mlflow-artifacts/mpu/(create|complete|abort)/.+|/api/v1/(` + strings.Join([]string{
	`trials/\d+/(metrics|progress|early_exit|runner/metadata|profiler/.*|training_metrics|validation_metrics|searcher/completed_operation)`,
	`allocations/.+`, `detent/.+`, `checkpoints(/.*)?`, `runs/start`, `runs/\d+/metadata`, `task/logs`, `trial-source-info`, `notebooks/.+/report_idle`,
}, "|") + `))$`)

func repeatable(req *http.Request) bool {
	return req.Method != http.MethodPost || reports.MatchString(req.URL.Path)
}

// send is Send, but a response of moderate size is read completely, or requested again.
func (h *holder) send(req *http.Request, kept *body, p masters.Policy) (*http.Response, error) {
	open := kept.open
	if kept.size == 0 {
		open = nil
	}
	deadline := time.Now().Add(p.Hold)
	for {
		resp, err := h.cfg.Masters.Send(req, open, p)
		if err != nil || resp.ContentLength <= 0 || resp.ContentLength > wholeAnswer || req.Method == http.MethodHead {
			return resp, err
		}
		content := make([]byte, resp.ContentLength)
		_, err = io.ReadFull(resp.Body, content)
		_ = resp.Body.Close()
		if err == nil {
			resp.Body = io.NopCloser(bytes.NewReader(content))
			return resp, nil
		}
		if req.Context().Err() != nil || !p.Replay || !time.Now().Before(deadline) {
			return nil, err
		}
	}
}

var signalPath = regexp.MustCompile(`^/api/v1/allocations/[^/]+/signals/preemption$`)

// signalOf reports whether a request is for the preemption signal, and how long it may wait.
func signalOf(req *http.Request) (time.Duration, bool) {
	if req.Method != http.MethodGet || !signalPath.MatchString(req.URL.Path) {
		return 0, false
	}
	q := req.URL.Query()
	for _, name := range []string{"timeoutSeconds", "timeout_seconds"} {
		if n, err := strconv.Atoi(q.Get(name)); err == nil && n >= 0 {
			return time.Duration(n) * time.Second, true
		}
	}
	return 0, true
}

// signal requests the preemption signal. If no master answers in time, it repeats the last
// answer, or answers "no" if there was none.
func (h *holder) signal(req *http.Request, asked time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), asked+signalSlack)
	defer cancel()
	resp, err := h.send(req.Clone(ctx), &body{}, masters.Policy{Hold: asked + signalSlack, Replay: true})
	if err == nil && resp.StatusCode < 500 {
		content, readErr := io.ReadAll(io.LimitReader(resp.Body, wholeAnswer))
		_ = resp.Body.Close()
		if err = readErr; err == nil {
			h.remember(req.URL.Path, content)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
			return resp, nil
		}
	} else if err == nil {
		_ = resp.Body.Close()
	}
	if req.Context().Err() != nil {
		return nil, errors.Join(err, req.Context().Err())
	}
	h.mu.Lock()
	answer := []byte(`{"preempt":` + strconv.FormatBool(h.preempted[req.URL.Path]) + `}`)
	h.mu.Unlock()
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(answer)),
		ContentLength: int64(len(answer)), Request: req,
	}, nil
}

func (h *holder) remember(path string, answer []byte) {
	var said struct {
		Preempt bool `json:"preempt"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Preempt {
		h.mu.Lock()
		h.preempted[path] = true
		h.mu.Unlock()
	}
}
