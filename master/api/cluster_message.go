package api

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	maxMessageRunes  = 250
	maxMessageLength = 10 * 365 * 24 * time.Hour
	// noticeAge is how long a master caches the message: everybody may request it, as often as
	// they like.
	noticeAge     = 2 * time.Second
	noticeTimeout = time.Second
)

// notice is the cached message to all users.
type notice struct {
	db *store.DB

	mu      sync.Mutex
	read    time.Time
	message *store.ClusterMessage
}

// shown is the current message; nil for none. While the database does not answer, it is the
// last message: the first call of every client requests it.
func (n *notice) shown(ctx context.Context, now time.Time) *store.ClusterMessage {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.read) > noticeAge {
		ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
		defer cancel()
		if m, err := n.db.ClusterMessage(ctx); err == nil {
			n.message = m
		}
		n.read = now
	}
	if m := n.message; m != nil && !now.Before(m.StartTime) && (m.EndTime == nil || now.Before(*m.EndTime)) {
		return m
	}
	return nil
}

// forget removes the message from the cache.
func (n *notice) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read = time.Time{}
}

func wireMessage(m *store.ClusterMessage) *v1.ClusterMessage {
	if m == nil {
		return nil
	}
	return &v1.ClusterMessage{Message: m.Message, StartTime: m.StartTime, EndTime: m.EndTime, CreatedTime: m.CreatedAt}
}

func (a *API) clusterMessage(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetClusterMessageResponse, error) {
	m, err := a.db.ClusterMessage(ctx)
	return &v1.GetClusterMessageResponse{ClusterMessage: wireMessage(m)}, err
}

func (a *API) setClusterMessage(ctx context.Context, c *rest.Call, req *v1.SetClusterMessageRequest) (*v1.Empty, error) {
	m, err := newClusterMessage(req, time.Now())
	if err != nil {
		return nil, err
	}
	if err := a.db.SetClusterMessage(ctx, c.Who().UserID, m); err != nil {
		return nil, err
	}
	a.notice.forget()
	return &v1.Empty{}, nil
}

func (a *API) deleteClusterMessage(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.Empty, error) {
	err := a.db.ClearClusterMessage(ctx)
	a.notice.forget()
	return &v1.Empty{}, err
}

// newClusterMessage checks a request for a message.
func newClusterMessage(req *v1.SetClusterMessageRequest, now time.Time) (store.ClusterMessage, error) {
	m := store.ClusterMessage{Message: strings.TrimSpace(req.Message), StartTime: now, EndTime: req.EndTime}
	if n := utf8.RuneCountInString(m.Message); n == 0 || n > maxMessageRunes {
		return m, fault.New(fault.Invalid, "message: expected 1 to %d characters, found %d", maxMessageRunes, n)
	}
	if req.StartTime != nil {
		m.StartTime = *req.StartTime
	}
	if req.Duration != nil && *req.Duration != "" {
		if req.EndTime != nil {
			return m, fault.New(fault.Invalid, "EndTime and Duration are mutually exclusive; set one of them")
		}
		length, err := parseLength(*req.Duration)
		if err != nil {
			return m, err
		}
		end := m.StartTime.Add(length)
		m.EndTime = &end
	}
	switch {
	case m.EndTime == nil:
	case !m.EndTime.After(m.StartTime):
		return m, fault.New(fault.Invalid, "endTime: the message would end at %s, before it begins at %s", m.EndTime.UTC().Format(time.RFC3339), m.StartTime.UTC().Format(time.RFC3339))
	case !m.EndTime.After(now):
		return m, fault.New(fault.Invalid, "endTime: %s has passed", m.EndTime.UTC().Format(time.RFC3339))
	}
	return m, nil
}

var daysAndWeeks = regexp.MustCompile(`^([0-9]{1,4})([dw])$`)

// parseLength parses a duration in Go's form, or a number of days or weeks.
func parseLength(text string) (time.Duration, error) {
	length, err := time.ParseDuration(text)
	if m := daysAndWeeks.FindStringSubmatch(text); m != nil {
		n, convErr := strconv.Atoi(m[1])
		length, err = time.Duration(n)*24*time.Hour, convErr
		if m[2] == "w" {
			length *= 7
		}
	}
	if err != nil || length <= 0 || length > maxMessageLength {
		return 0, fault.New(fault.Invalid, "duration: expected a duration of at most ten years such as 30m, 24h, 5d or 2w, found %q", text)
	}
	return length, nil
}
