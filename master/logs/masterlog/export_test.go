package masterlog

import "context"

// For tests, which are in another package because they use store, which uses the package above this one.
const (
	MaxLines = maxLines
	MaxQueue = maxQueue
)

func (m *Handler) Trim(ctx context.Context) error { return m.core.trim(ctx) }
