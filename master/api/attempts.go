package api

import (
	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/lifecycle"
)

// attemptDeps gives the room of attempts what it uses of checkpoints and the loop.
func (a *API) attemptDeps(id attempts.Identity, disc attempts.Discovery) attempts.Deps {
	return attempts.Deps{DB: a.db, Bus: a.bus, Log: a.log, Identity: id, Discovery: disc, Nodes: a.nodes, Policies: a.taskIO.policies,
		Files: &artifacts.Files{RunnerDir: a.cfg.RunnerDir, DetPath: a.cfg.DetPath, HarnessDir: a.cfg.HarnessDir},
		Site:  a.cfg.Site, Proxy: a.cfg.Proxy, Namespaces: a.cfg.Namespaces, NomadUI: a.cfg.NomadUI, RegionUIs: a.cfg.RegionUIs,
		Reported: func() { a.bus.Publish(lifecycle.TopicEvents) }}
}
