package attempts

import (
	"log/slog"

	"golang.org/x/sync/singleflight"

	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/proxy"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB         *database.DB
	Bus        *database.Bus
	Log        *slog.Logger
	Identity   Identity
	Discovery  Discovery
	Nodes      nodes.Inventory
	Files      *artifacts.Files
	Policies   *logs.Policies
	Site       task.Site    // the settings of the installation for all tasks
	Proxy      *proxy.Proxy // forwards users to tasks; nil if the proxy is disabled
	Namespaces []string     // of Nomad, that the jobs of this cluster run in; none means default
	NomadUI    string       // address of Nomad's UI for browsers; "": answers have no links to Nomad
	RegionUIs  map[string]string
	// Reported wakes the control loop after a task has reported.
	Reported func()

	gathers *gathers            // rounds of all-gathers; Routes makes them
	asked   *singleflight.Group // about the state of a rendezvous
}

// Routes adds the endpoints of attempts. GetAllocation, which answers with the attempt that users see of a task, is with those of tasks,
// and the attempts of an experiment or on a node are listed with these (OfExperiment, OnNode).
func Routes(r *rest.Router, d Deps) {
	d.gathers, d.asked = newGathers(), &singleflight.Group{}
	d.routes(r)
}

func (d Deps) routes(r *rest.Router) {
	own, member := onOwn(), onOwnMember()
	rest.Serve(r, v1.ClaimAllocation, d.claim)
	rest.ServeOn(r, v1.MemberRendezvous, member, d.memberRendezvous)
	rest.ServeOn(r, v1.AllocationRendezvous, own, d.rendezvous)
	rest.ServeOn(r, v1.AllGather, own, d.allGather)
	rest.ServeOn(r, v1.NotifyContainerRunning, own, d.notifyRunning)

	rest.ServeOn(r, v1.AwaitPreemption, own, d.preemption)
	rest.ServeOn(r, v1.AcknowledgePreemption, own, d.told(ackPreemption, d.wakeLoop))
	rest.ServeOn(r, v1.AskForPreemption, own, d.pendingPreemption)
	rest.ServeOn(r, v1.ReportReady, own, d.told(MarkReady, d.wake))
	rest.ServeOn(r, v1.ReportWaiting, own, d.told(markWaiting, d.wake))
	rest.ServeOn(r, v1.ReportProxyAddress, own, d.proxyAddress)
	rest.ServeOn(r, v1.ReportAccelerators, own, d.acceleratorData)
	rest.ServeOn(r, v1.GetTaskAccelerators, tasks.On(d.DB), d.taskAccelerators)
	rest.ServeOn(r, v1.ReportDaemon, own, d.daemon)

	rest.ServeOn(r, v1.WatchAllocation, own, d.watch)
	rest.ServeOn(r, v1.CheckVisitors, own, d.visitors)
	rest.ServeOn(r, v1.ReportLogMatches, member, d.matches)
	rest.ServeOn(r, v1.ReportMemberExit, member, d.exit)
	rest.ServeOn(r, v1.ListTaskAttempts, tasks.On(d.DB), d.ofTask)
}
