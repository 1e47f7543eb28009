package api

import (
	"context"

	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/accounts/login"
	"github.com/detent-ml/detent/master/logs/masterlog"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// registerMaster gives the room of what a master tells about itself the configuration, and what other parts of the master count.
func (a *API) registerMaster() {
	d := about.Deps{DB: a.db, Log: a.log, ClusterName: a.cfg.ClusterName, ClusterID: a.cfg.ClusterID, MasterID: a.cfg.MasterID, PublicURL: a.cfg.PublicURL,
		Version: a.cfg.Version, DetentVersion: a.cfg.DetentVersion, Roles: bool(a.cfg.Roles), Risks: a.cfg.Risks, Redacted: a.cfg.Redacted,
		Loop: a.cfg.Loop, Connections: a.cfg.Connections, Demand: a.cfg.Demand, Forwarders: a.forwarders.Count,
		Providers: func() []v1.SSOProvider { return login.Offered(a.cfg.SignIn, a.cfg.PublicURL) },
		SettingsChanged: func(ctx context.Context) {
			a.bus.Publish(about.TopicSettings)
			if a.cfg.ApplySettings != nil {
				a.cfg.ApplySettings(ctx) // so that this master shows them at once
			}
		}}
	if a.cfg.Proxy != nil {
		d.Visits = a.cfg.Proxy.Open
	}
	about.Routes(a.stopping, a.router, d)
	masterlog.Routes(a.router, masterlog.Deps{DB: a.db, SignedIn: func(ctx context.Context, who rest.Credential) error {
		_, err := a.auth.ByToken(ctx, who)
		return err
	}})
}
