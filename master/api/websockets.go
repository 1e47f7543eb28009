package api

import (
	"github.com/detent-ml/detent/master/rest"
)

// webSockets counts the open WebSockets of each kind, and the streams that stay open as long.
type webSockets struct{ updates, live, metrics *rest.Places }

func newWebSockets() webSockets {
	return webSockets{
		updates: rest.NewPlaces("streams", 128, 8),
		live:    rest.NewPlaces("streams of changes (/detent/live)", 1024, 64),
		metrics: rest.NewPlaces("streams of metrics for charts", 256, 32),
	}
}
