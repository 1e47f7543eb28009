package about

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Message is what administrators tell everybody.
type Message struct {
	Message   string     `db:"message"`
	StartTime time.Time  `db:"start_time"`
	EndTime   *time.Time `db:"end_time"` // nil: it is shown until it is cleared
	CreatedAt time.Time  `db:"created_at"`
}

// currentMessage reads the message, also before and after the time in which it is shown; nil if there is none.
func currentMessage(ctx context.Context, db *database.DB) (*Message, error) {
	m, err := database.Row[Message](ctx, db, "cluster message", `SELECT message, start_time, end_time, created_at FROM cluster_message`)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &m, err
}

// setMessage replaces the message.
func setMessage(ctx context.Context, db *database.DB, user int, m Message) error {
	_, err := db.Exec(ctx, `INSERT INTO cluster_message (message, start_time, end_time, user_id) VALUES (@message, @start, @end, @user)
		ON CONFLICT (one) DO UPDATE SET message = @message, start_time = @start, end_time = @end, user_id = @user, created_at = now()`,
		database.Args{"message": m.Message, "start": m.StartTime, "end": m.EndTime, "user": user})
	return err
}

// clearMessage removes the message, if there is one.
func clearMessage(ctx context.Context, db *database.DB) error {
	_, err := db.Exec(ctx, `DELETE FROM cluster_message`)
	return err
}
