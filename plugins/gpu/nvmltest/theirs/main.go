// Program theirs stands in for HashiCorp's own device plugin for NVIDIA's GPUs, nomad-device-nvidia 1.1, in tests. It lists the GPUs of
// NVIDIA's library under the same name in Nomad, and keeps to what that plugin does where it differs from det-gpu: each GPU is healthy,
// there are no groups of linked GPUs, the bus's address is filled up with zero bytes, and a task gets NVIDIA_VISIBLE_DEVICES only.
//
// Nomad finds it as a program named nomad-device-nvidia.
package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad/plugins/base"
	"github.com/hashicorp/nomad/plugins/device"
	"github.com/hashicorp/nomad/plugins/shared/hclspec"
	"github.com/hashicorp/nomad/plugins/shared/structs"

	"github.com/detent-ml/detent/plugins/gpu/nvidia"
)

func main() {
	log := hclog.New(&hclog.LoggerOptions{Name: "nvidia-gpu", Level: hclog.Info, JSONFormat: true})
	go func() {
		parent := os.Getppid()
		for range time.NewTicker(time.Second).C { // it ends with its Nomad
			if os.Getppid() != parent {
				os.Exit(0)
			}
		}
	}()
	device.Serve(theirs{log}, log)
}

type theirs struct{ log hclog.Logger }

func (theirs) PluginInfo() (*base.PluginInfoResponse, error) {
	return &base.PluginInfoResponse{Type: base.PluginTypeDevice, PluginApiVersions: []string{device.ApiVersion010}, PluginVersion: "1.1.0", Name: "nvidia-gpu"}, nil
}

// ConfigSchema has no key: the tests configure nothing.
func (theirs) ConfigSchema() (*hclspec.Spec, error) {
	return hclspec.NewObject(map[string]*hclspec.Spec{"enabled": hclspec.NewAttr("enabled", "bool", false)}), nil
}

func (theirs) SetConfig(*base.Config) error { return nil }

// Fingerprint lists the GPUs once: none appears or disappears in a test.
func (p theirs) Fingerprint(ctx context.Context) (<-chan *device.FingerprintResponse, error) {
	source, err := nvidia.Open()
	if err != nil {
		return nil, err
	}
	scan, err := source.Scan()
	if err != nil {
		return nil, err
	}
	group := &device.DeviceGroup{Vendor: "nvidia", Type: device.DeviceTypeGPU}
	for _, gpu := range scan.GPUs {
		const busBytes = 32
		group.Name = gpu.Model
		group.Attributes = map[string]*structs.Attribute{
			"memory": structs.NewIntAttribute(int64(gpu.MemoryMiB), structs.UnitMiB), "bar1": structs.NewIntAttribute(int64(gpu.BAR1MiB), structs.UnitMiB),
			"driver_version": structs.NewStringAttribute(scan.Driver), "display_state": structs.NewStringAttribute("0"), "persistence_mode": structs.NewStringAttribute("1"),
		}
		group.Devices = append(group.Devices, &device.Device{ID: gpu.ID, Healthy: true,
			HwLocality: &device.DeviceLocality{PciBusID: gpu.BusID + strings.Repeat("\x00", busBytes-len(gpu.BusID))}})
	}
	out := make(chan *device.FingerprintResponse, 1)
	out <- device.NewFingerprint(group)
	go func() {
		<-ctx.Done()
		close(out)
	}()
	return out, nil
}

func (theirs) Reserve(ids []string) (*device.ContainerReservation, error) {
	return &device.ContainerReservation{Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(ids, ",")}}, nil
}

// Stats measures nothing.
func (theirs) Stats(ctx context.Context, _ time.Duration) (<-chan *device.StatsResponse, error) {
	out := make(chan *device.StatsResponse)
	go func() {
		<-ctx.Done()
		close(out)
	}()
	return out, nil
}
