package about

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
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
	db *database.DB

	mu      sync.Mutex
	read    time.Time
	message *Message
}

// shown is the current message; nil for none. While the database does not answer, it is the
// last message: the first call of every client requests it.
func (n *notice) shown(ctx context.Context, now time.Time) *Message {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.read) > noticeAge {
		ctx, cancel := context.WithTimeout(ctx, noticeTimeout)
		defer cancel()
		if m, err := currentMessage(ctx, n.db); err == nil {
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

func (m *Message) wire() *v1.ClusterMessage {
	if m == nil {
		return nil
	}
	return &v1.ClusterMessage{Message: m.Message, StartTime: m.StartTime, EndTime: m.EndTime, CreatedTime: m.CreatedAt}
}

func (m *master) message(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.GetClusterMessageResponse, error) {
	message, err := currentMessage(ctx, m.DB)
	return &v1.GetClusterMessageResponse{ClusterMessage: message.wire()}, err
}

func (m *master) setMessage(ctx context.Context, c *rest.Call, req *v1.SetClusterMessageRequest) (*v1.Empty, error) {
	message, err := newMessage(req, time.Now())
	if err != nil {
		return nil, err
	}
	return rest.Done[v1.Empty](setMessage(ctx, m.DB, c.Who().UserID, message), m.notice.forget)
}

func (m *master) deleteMessage(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.Empty, error) {
	err := clearMessage(ctx, m.DB)
	m.notice.forget()
	return &v1.Empty{}, err
}

// newMessage checks a request for a message.
func newMessage(req *v1.SetClusterMessageRequest, now time.Time) (Message, error) {
	m := Message{Message: strings.TrimSpace(req.Message), StartTime: now, EndTime: req.EndTime}
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
