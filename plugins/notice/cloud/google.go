package cloud

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Google says that it preempts a machine and ends it half a minute later. Its service can hold a request until a value
// changes, so the news arrives at once.
const (
	googlePause     = time.Second // between two requests that are held
	googleHold      = 10 * time.Second
	googlePreempted = "/computeMetadata/v1/instance/preempted"
	googleEvent     = "/computeMetadata/v1/instance/maintenance-event"
	preemptedWithin = 30 * time.Second
	// maintainedWithin is the shortest time between a maintenance event and its notice; for machines with GPUs it is
	// an hour. Google gives notice only to machines that have read the event since the last one.
	maintainedWithin = time.Minute
	maxETag          = 256
)

type google struct {
	service
	options Options
	now     func() time.Time

	etag                  string
	preempted, maintained time.Time // when this process first saw it; zero while it is not so
}

func (g *google) Name() string { return "Google" }

func (g *google) Pause() time.Duration { return googlePause }

// googleHeader proves that a request comes from no page in a browser.
func googleHeader() map[string]string { return map[string]string{"Metadata-Flavor": "Google"} }

func (g *google) Look(ctx context.Context) (*Notice, error) {
	preempted, err := g.isPreempted(ctx)
	if err != nil {
		g.etag = "" // the next request is not held
		return nil, err
	}
	notice := g.counted(&g.preempted, preempted, preemptedWithin, "Google preempts the machine")
	if notice != nil || !g.options.Maintenance {
		return notice, nil
	}
	got, err := g.ask(ctx, request{method: http.MethodGet, path: googleEvent, header: googleHeader()})
	if err != nil {
		return nil, err
	}
	ends, err := googleEnds(got)
	if err != nil {
		return nil, err
	}
	return g.counted(&g.maintained, ends, maintainedWithin, "Google ends the machine for maintenance of its host"), nil
}

// isPreempted asks whether the machine is being preempted. From the second time on the service holds the request until
// that changes.
func (g *google) isPreempted(ctx context.Context) (bool, error) {
	path := googlePreempted
	if g.etag != "" {
		path += "?" + url.Values{"wait_for_change": {"true"}, "timeout_sec": {strconv.Itoa(int(googleHold.Seconds()))}, "last_etag": {g.etag}}.Encode()
	}
	got, err := g.ask(ctx, request{method: http.MethodGet, path: path, header: googleHeader(), within: googleHold + answerWithin})
	if err != nil {
		return false, err
	}
	preempted, err := googleBool(got)
	if err != nil {
		return false, err
	}
	if g.etag = got.header.Get("ETag"); len(g.etag) > maxETag {
		g.etag = ""
	}
	return preempted, nil
}

// counted is the notice of what is so, whose time counts from the first look that saw it.
func (g *google) counted(since *time.Time, is bool, within time.Duration, why string) *Notice {
	switch {
	case !is:
		*since = time.Time{}
		return nil
	case since.IsZero():
		*since = g.now()
	}
	return &Notice{At: since.Add(within).UTC(), Counted: true, Why: why}
}

// fromGoogle reports whether an answer is one of Google's service.
func fromGoogle(a answer) bool { return a.header.Get("Metadata-Flavor") == "Google" }

func googleBool(a answer) (bool, error) {
	if a.status == http.StatusOK && fromGoogle(a) {
		switch strings.TrimSpace(string(a.body)) {
		case "TRUE":
			return true, nil
		case "FALSE":
			return false, nil
		}
	}
	return false, unexpected(googlePreempted, a)
}

// googleEnds reads the maintenance event: whether the machine is ended for it. A migration does not end tasks.
func googleEnds(a answer) (bool, error) {
	if a.status != http.StatusOK || !fromGoogle(a) {
		return false, unexpected(googleEvent, a)
	}
	switch word := strings.TrimSpace(string(a.body)); word {
	case "TERMINATE_ON_HOST_MAINTENANCE", "SHUTDOWN_ON_HOST_MAINTENANCE":
		return true, nil
	case "NONE", "MIGRATE_ON_HOST_MAINTENANCE":
		return false, nil
	default:
		return false, fmt.Errorf("%w: it is no maintenance event that this program knows", unexpected(googleEvent, a))
	}
}
