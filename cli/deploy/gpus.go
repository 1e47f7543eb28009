package deploy

import (
	"context"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
)

// findGPUs selects the GPUs of the nodes. A missing det-gpu is an error only if the user
// requested GPUs.
func (o upOptions) findGPUs(ctx context.Context, report *servers.Reporter) (local.GPUs, error) {
	switch {
	case o.gpus < anyGPUs:
		return local.GPUs{}, &exit.UsageError{Message: "--gpus must be 0 or more"}
	case o.gpus == 0:
		return local.GPUs{None: true}, nil
	}
	binary, err := program("det-gpu", o.gpuPlugin, "--gpu-plugin-binary")
	switch {
	case err != nil && (o.gpus > 0 || o.gpuPlugin != ""):
		return local.GPUs{}, err
	case err != nil:
		report.Say("det-gpu is neither beside det nor on PATH, so the nodes have CPU slots only")
		return local.GPUs{}, nil //nolint:nilerr // none were asked for
	case o.gpus > 0:
		return local.GPUs{Binary: binary, Simulated: o.gpus}, nil
	}
	gpus := local.DefaultGPUs(ctx, binary)
	if gpus.Real {
		report.Say("GPUs: those of this machine")
	} else {
		report.Say("GPUs: %d simulated ones on each node, because this machine has none", gpus.Simulated)
	}
	return gpus, nil
}
