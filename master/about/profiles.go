package about

import (
	"context"
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// maxProfiles is how many administrators may profile a master at once: Go has one profile of the
	// processor, and each costs time.
	maxProfiles = 1
	// maxProfileTime is the maximum length of a profile or trace.
	maxProfileTime = 60 * time.Second
)

// profileNames are the profiles of Go's runtime. The program's arguments ("cmdline") are not among
// them.
var profileNames = []string{"allocs", "block", "goroutine", "heap", "mutex", "threadcreate"}

// listProfiles writes Go's own page. Its links need the path to end in a slash.
func listProfiles(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusSeeOther)
		return
	}
	pprof.Index(w, r)
}

// onProfile finds a profile by its name.
func onProfile() rest.Object[http.Handler] {
	return rest.Object[http.Handler]{
		Of: func(http.Handler) auth.Object { return auth.Object{Kind: v1.KindCluster} },
		Load: func(_ context.Context, c *rest.Call) (http.Handler, error) {
			switch name := c.Param("profile"); {
			case name == "profile":
				return http.HandlerFunc(pprof.Profile), nil
			case name == "trace":
				return http.HandlerFunc(pprof.Trace), nil
			case name == "symbol":
				return http.HandlerFunc(pprof.Symbol), nil
			case slices.Contains(profileNames, name):
				return pprof.Handler(name), nil
			default:
				return nil, fault.New(fault.NotFound, "there is no profile %q; /debug/pprof/ lists them", fault.Clip(name))
			}
		},
	}
}

// profile answers go tool pprof and browsers.
func (m *master) profile(_ context.Context, c *rest.Call, h http.Handler) error {
	if text, ok := c.Query("seconds"); ok {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds > 0 && seconds <= maxProfileTime.Seconds()) {
			return fault.New(fault.Invalid, "seconds: must be more than 0 and at most %d", int(maxProfileTime.Seconds()))
		}
	}
	leave, err := m.profiles.Join(strconv.Itoa(c.Who().UserID))
	if err != nil {
		return fault.New(fault.TooMany, "this master is being profiled; try again when the profile has ended")
	}
	err = c.Hijack(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		h.ServeHTTP(w, r)
	}))
	if err != nil { // the handler was not called
		leave()
	}
	return err
}
