package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// probeWithin is how long a metadata service may take to say which cloud it is of.
const probeWithin = 2 * time.Second

// Named returns the cloud of a name, or an error that lists the names.
func Named(name, address string, o Options, now func() time.Time) (Cloud, error) {
	s := newService(address)
	switch name {
	case "aws":
		return &aws{service: s, options: o, now: now}, nil
	case "google":
		return &google{service: s, options: o, now: now}, nil
	case "azure":
		return &azure{service: s, options: o, now: now}, nil
	}
	return nil, fmt.Errorf("expected auto, aws, google or azure, found %.40q", name)
}

// ErrNone says that no cloud was found.
var ErrNone = errors.New("no metadata service of AWS, Google or Azure answers")

// Detect finds out which cloud's metadata service answers, by what only that one can say.
func Detect(ctx context.Context, address string, o Options, now func() time.Time) (Cloud, error) {
	s := newService(address)
	probes := []struct {
		name string
		is   func(context.Context) bool
	}{
		{"google", func(ctx context.Context) bool {
			got, err := s.ask(ctx, request{method: http.MethodGet, path: googlePreempted, header: googleHeader()})
			return err == nil && got.status == http.StatusOK && fromGoogle(got)
		}},
		{"azure", func(ctx context.Context) bool {
			got, err := s.ask(ctx, request{method: http.MethodGet, path: azureName, header: azureHeader()})
			if err != nil {
				return false
			}
			_, err = azureMachine(got)
			return err == nil
		}},
		{"aws", func(ctx context.Context) bool {
			return (&aws{service: s, now: now}).renew(ctx) == nil
		}},
	}
	for _, probe := range probes {
		ctx, cancel := context.WithTimeout(ctx, probeWithin)
		is := probe.is(ctx)
		cancel()
		if is {
			return Named(probe.name, address, o, now)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("%w at %s", ErrNone, address)
}
