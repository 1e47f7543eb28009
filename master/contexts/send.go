package contexts

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
)

const (
	maxSent           = 512 // contexts that are sent at once
	MaxSentPerUser    = 32  // of those, to one user and the user's tasks
	maxWaitingPerUser = 64  // requests that wait until they may send a context
)

// A Sender sends contexts to clients, a limited number at once.
type Sender struct {
	DB    *database.DB
	Turns *rest.Shares // of contexts that are being sent
}

// NewSender returns a Sender.
func NewSender(db *database.DB) *Sender {
	return &Sender{DB: db, Turns: rest.NewShares(maxSent, MaxSentPerUser)}
}

// Send sends a context as the body of the answer.
func (s *Sender) Send(c *rest.Call, code *Context) error {
	turn, err := s.Begin(c)
	if err != nil {
		return err
	}
	c.SendFrom(c.Paced(turn.End, Read(turn.Ctx, s.DB, code)), int(code.Size))
	return nil
}

// SendBase64 sends a context in a field of a message.
func (s *Sender) SendBase64(c *rest.Call, field string, code *Context) error {
	turn, err := s.Begin(c)
	if err != nil {
		return err
	}
	c.SendBase64(field, c.Paced(turn.End, Read(turn.Ctx, s.DB, code)), code.Size)
	return nil
}

// A Turn permits a call to send a context.
type Turn struct {
	Ctx context.Context // ends with the server, and with the caller's permission
	End func()
}

// Begin waits until a context may be sent to the caller. If many tasks start at the same
// time, some must wait: runners retry.
func (s *Sender) Begin(c *rest.Call) (*Turn, error) {
	// Not the request's own context, which ends when the handler returns.
	ctx, followed := c.Follow()
	waiting, cancel := context.WithTimeout(ctx, rest.AnswerTimeout)
	defer cancel()
	c.EndReading()
	owner := c.Owner()
	if s.Turns.Full(owner, maxWaitingPerUser) { // each has loaded what its path names
		followed()
		return nil, fault.New(fault.Unavailable, "too many requests of yours wait for code; try again")
	}
	turn, err := s.Turns.Take(waiting, owner, 1)
	if err != nil {
		followed()
		return nil, fault.Wrap(fault.Unavailable, err, "the master sends code to too many clients now; try again")
	}
	conn := c.Conn()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now()) }) // ends a write to a client that does not read
	return &Turn{Ctx: ctx, End: func() {
		stop()
		followed()
		turn.Release()
	}}, nil
}
