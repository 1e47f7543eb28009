package store

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A ClusterMessage is what administrators tell everybody.
type ClusterMessage struct {
	Message   string     `db:"message"`
	StartTime time.Time  `db:"start_time"`
	EndTime   *time.Time `db:"end_time"` // nil: it is shown until it is cleared
	CreatedAt time.Time  `db:"created_at"`
}

// ClusterMessage reads the message, also one that is not shown yet or any more; nil where there is none.
func (db *DB) ClusterMessage(ctx context.Context) (*ClusterMessage, error) {
	m, err := database.Row[ClusterMessage](ctx, db.DB, "cluster message", `SELECT message, start_time, end_time, created_at FROM cluster_message`)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &m, err
}

// SetClusterMessage replaces the message.
func (db *DB) SetClusterMessage(ctx context.Context, user int, m ClusterMessage) error {
	_, err := db.Exec(ctx, `INSERT INTO cluster_message (message, start_time, end_time, user_id) VALUES (@message, @start, @end, @user)
		ON CONFLICT (one) DO UPDATE SET message = @message, start_time = @start, end_time = @end, user_id = @user, created_at = now()`,
		database.Args{"message": m.Message, "start": m.StartTime, "end": m.EndTime, "user": user})
	return err
}

// ClearClusterMessage removes the message, if there is one.
func (db *DB) ClearClusterMessage(ctx context.Context) error {
	_, err := db.Exec(ctx, `DELETE FROM cluster_message`)
	return err
}
