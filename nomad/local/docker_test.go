package local

import (
	"context"
	"strings"
	"testing"
)

// Nodes are led to the daemons that were brought, and Down ends them.
func TestDaemonsThatAreBrought(t *testing.T) {
	var stopped []string
	daemon := func(name string) *Containers {
		return &Containers{Socket: "/run/" + name + ".sock", Stop: func(context.Context) error {
			stopped = append(stopped, name)
			return nil
		}}
	}
	c := &Cluster{dir: t.TempDir()}
	if c.dockerPlugin() != "" {
		t.Error("nodes are led to a Docker daemon that there is not")
	}
	c.setDaemons(Options{Docker: daemon("docker"), Podman: daemon("podman")})
	if plugin := c.dockerPlugin(); !strings.Contains(plugin, `endpoint = "unix:///run/docker.sock"`) || c.state.PodmanSocket != "/run/podman.sock" {
		t.Errorf("Podman at %s, and\n%s", c.state.PodmanSocket, plugin)
	}
	if err := c.Down(t.Context(), nil); err != nil || strings.Join(stopped, " ") != "podman docker" {
		t.Errorf("down: %v, ended %q", err, stopped)
	}
}
