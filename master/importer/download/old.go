package download

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// patience is how long a request is repeated while the old master does not answer.
const patience = time.Minute

// Access says where the old master is, and who asks.
type Access struct {
	Master   string // https://old-master:8080
	Token    string // of an administrator; or:
	User     string
	Password string
}

// releases are the releases of Determined whose API is known, and those of its public fork.
var releases = []string{"0.38.", "0.39.", "0.40.", "0.41.", "0.42."}

// Is reports whether an address is that of a master, and not that of a database.
func Is(address string) bool {
	return strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://")
}

// connect signs in at the old master, and returns what it says about itself and about who asks.
func connect(ctx context.Context, a Access, transport *bounded) (*client.Client, *v1.GetMasterResponse, *v1.User, error) {
	u, err := url.Parse(a.Master)
	switch {
	case err != nil || u.Host == "":
		return nil, nil, nil, fault.New(fault.Invalid, "--from: the address of the old master cannot be read; it is like https://old-master:8080")
	case u.User != nil:
		return nil, nil, nil, fault.New(fault.Invalid, "--from: a password in an address is seen by others in the list of processes: set DETENT_IMPORT_USER and DETENT_IMPORT_PASSWORD, or DETENT_IMPORT_TOKEN")
	case a.Token == "" && (a.User == "" || a.Password == ""):
		return nil, nil, nil, fault.New(fault.Unauthenticated, "who asks the old master? Set DETENT_IMPORT_TOKEN to a token of an administrator there, or DETENT_IMPORT_USER and DETENT_IMPORT_PASSWORD")
	}
	o := client.Options{Master: a.Master, Token: a.Token, UserAgent: "det-master import", Patience: patience, Transport: transport}
	var c *client.Client
	if a.Token == "" {
		o.Refresh = func(ctx context.Context, _ string) (string, error) {
			again, err := client.New(client.Options{Master: a.Master, UserAgent: o.UserAgent, Transport: transport})
			if err != nil {
				return "", err
			}
			made, err := again.Login(ctx, a.User, a.Password)
			if err != nil {
				return "", err
			}
			return made.Token, nil
		}
	}
	if c, err = client.New(o); err != nil {
		return nil, nil, nil, err
	}
	master, err := client.Call(ctx, c, v1.GetMaster)
	if err != nil {
		return nil, nil, nil, err
	}
	if !slices.ContainsFunc(releases, func(r string) bool { return strings.HasPrefix(strings.TrimPrefix(master.Version, "v"), r) }) || master.ClusterID == "" {
		return nil, nil, nil, fault.New(fault.Invalid, "%s is a master of release %q; known are Determined 0.38 and the public fork up to 0.42: upgrade the old cluster to 0.38.1 first", a.Master, fault.Clip(master.Version))
	}
	if a.Token == "" {
		if _, err := c.Login(ctx, a.User, a.Password); err != nil {
			return nil, nil, nil, fault.New(fault.Unauthenticated, "the old master does not let %s sign in: %w", a.User, err)
		}
	}
	me, err := c.Me(ctx)
	if err != nil {
		return nil, nil, nil, fault.New(fault.Unauthenticated, "the old master does not accept the token: %w", err)
	}
	return c, master, me, nil
}
