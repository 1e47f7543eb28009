package bulletin

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/drivers/proto"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"google.golang.org/grpc"
)

// Name is that of the driver, and of the program's file by which Nomad knows it.
const Name = "det-gpu-health"

// period is how often the notice is read: changes are seen within a moment, and a
// file of a few lines costs nothing.
const period = time.Second

// apiVersion is that of drivers in Nomad.
const apiVersion = "v0.1.0"

// Driver is what Nomad takes for a driver.
type Driver struct {
	Version string
	Path    string // of the notice
}

// PluginInfo says what the plugin is.
func (d *Driver) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{Type: base.PluginTypeDriver, PluginApiVersions: []string{apiVersion}, PluginVersion: d.Version, Name: Name}, nil
}

// ConfigSchema says that there is nothing to configure.
func (d *Driver) ConfigSchema() (*hclspec.Spec, error) { return nothing(), nil }

// SetConfig takes the empty configuration.
func (d *Driver) SetConfig(*base.Config) error { return nil }

func nothing() *hclspec.Spec { return hclspec.NewObject(map[string]*hclspec.Spec{}) }

// Serve is the driver until Nomad ends it.
func Serve(d *Driver, log hclog.Logger) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: base.Handshake,
		Plugins:         map[string]plugin.Plugin{base.PluginTypeBase: &base.PluginBase{Impl: d}, base.PluginTypeDriver: &served{driver: d}},
		GRPCServer:      plugin.DefaultGRPCServer,
		Logger:          log,
	})
}

// served is the driver on a connection.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	driver *Driver
}

// GRPCServer offers it.
func (s *served) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	proto.RegisterDriverServer(server, &calls{driver: s.driver})
	return nil
}

// GRPCClient is Nomad's side, which is not here.
func (s *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New(Name + " only serves")
}

// calls are those of Nomad. What is about tasks is left out: there are none.
type calls struct {
	proto.UnimplementedDriverServer
	driver *Driver
}

// TaskConfigSchema says that a task could say nothing.
func (c *calls) TaskConfigSchema(context.Context, *proto.TaskConfigSchemaRequest) (*proto.TaskConfigSchemaResponse, error) {
	return &proto.TaskConfigSchemaResponse{Spec: nothing()}, nil
}

// Capabilities are none.
func (c *calls) Capabilities(context.Context, *proto.CapabilitiesRequest) (*proto.CapabilitiesResponse, error) {
	return &proto.CapabilitiesResponse{Capabilities: &proto.DriverCapabilities{}}, nil
}

// StartTask refuses.
func (c *calls) StartTask(context.Context, *proto.StartTaskRequest) (*proto.StartTaskResponse, error) {
	return nil, errors.New(Name + " shows how GPUs are and runs no tasks; name another driver")
}

// TaskEvents has none to tell, for as long as Nomad listens.
func (c *calls) TaskEvents(_ *proto.TaskEventsRequest, to proto.Driver_TaskEventsServer) error {
	<-to.Context().Done()
	return nil
}

// Fingerprint tells Nomad how the GPUs are: at once, and whenever that changes.
func (c *calls) Fingerprint(_ *proto.FingerprintRequest, to proto.Driver_FingerprintServer) error {
	tick := time.NewTicker(period)
	defer tick.Stop()
	last := ""
	for {
		said := c.driver.look()
		if now := said.Health.String() + said.HealthDescription; now != last {
			if err := to.Send(said); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-to.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// look reads the notice.
func (d *Driver) look() *proto.FingerprintResponse {
	n, err := Read(d.Path)
	said := &proto.FingerprintResponse{Health: proto.FingerprintResponse_HEALTHY, HealthDescription: n.Words()}
	switch {
	case err != nil:
		said.Health, said.HealthDescription = proto.FingerprintResponse_UNHEALTHY, "what det-gpu says cannot be read: "+err.Error()
	case len(n.GPUs) == 0:
		said.Health = proto.FingerprintResponse_UNDETECTED
	case !n.Fit():
		said.Health = proto.FingerprintResponse_UNHEALTHY
	}
	return said
}
