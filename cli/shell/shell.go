// Package shell has the command det shell: it starts shells on the cluster and logs in to them
// with ssh.
//
// The SSH server is in the task's runner; the master forwards the bytes. The ssh of this
// machine is used with its own configuration and agent, so scp, sftp, port forwarding and the
// remote modes of editors work; det only adds a proxy command, det shell tunnel (tunnel.go),
// and the keys that were made for this shell only (ssh.go).
package shell

import (
	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det shell.
func New(a *app.App) *cobra.Command {
	k := kind()
	return noun.New("shell", "start shells and log in to them with ssh", nil, tasks.NewList(a, k), newStart(a), newOpen(a), newShowCommand(a),
		newTunnel(a), tasks.NewDescribe(a, k), tasks.NewConfig(a, k), tasks.NewLogs(a, k), tasks.NewKill(a, k), tasks.NewSet(a, k))
}

func kind() tasks.Kind {
	return tasks.Kind{
		Noun: "shell", Nouns: "shells",
		List:       tasks.List(v1.ListShells, func(r *v1.GetShellsResponse) []tasks.Item { return each.Of(r.Shells, item) }),
		Get:        tasks.Get(v1.GetShell, func(r *v1.GetShellResponse) (tasks.Item, v1.Struct) { return item(r.Shell), r.Config }),
		Kill:       tasks.Kill(v1.KillShell),
		Prioritize: tasks.Prioritize(v1.PrioritizeShell),
	}
}

// item is a shell for a table. Its message has no private key, because output may be stored and
// shared.
func item(m v1.Shell) tasks.Item {
	m.PrivateKey = ""
	return tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Message: m}
}
