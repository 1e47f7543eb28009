package expconf

import (
	"fmt"
	"path"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// BindMount mounts a directory of the node into a task.
type BindMount struct {
	HostPath      string  `json:"host_path" check:"absolute"`
	ContainerPath string  `json:"container_path"`
	ReadOnly      *bool   `json:"read_only" default:"false"`
	Propagation   *string `json:"propagation" default:"rprivate" check:"propagation"`
}

// BindMounts is a list; Merge combines the entries of both documents.
type BindMounts []BindMount

func (b BindMounts) onto(under any) any {
	return BindMounts(collect(b, under.(BindMounts), func(m BindMount) string { return m.ContainerPath }))
}

func (b BindMounts) check(k *checker, at string) {
	k.atMost(at, len(b), 100, "mounts")
	seen := map[string]int{}
	for i, m := range b {
		here := document.Index(at, i)
		switch target := path.Clean(m.ContainerPath); {
		case m.ContainerPath == "":
			k.fail(here+".container_path", "is required", "the path at which the task sees host_path")
		case target == ".":
			k.fail(here+".container_path", "must not be the working directory itself", "mount into a directory below it")
		case target == ".." || strings.HasPrefix(target, "../"):
			k.fail(here+".container_path", fmt.Sprintf("must not be outside of the working directory, found %q", document.Clip(m.ContainerPath)), "")
		default:
			if other, twice := seen[target]; twice {
				k.fail(here+".container_path", fmt.Sprintf("%s is already used by %s", document.Clip(target), document.Index(at, other)), "")
			}
			seen[target] = i
		}
	}
}

// Device makes a device file of the node available to a task.
type Device struct {
	HostPath      string  `json:"host_path" check:"absolute"`
	ContainerPath string  `json:"container_path" check:"absolute"`
	Mode          *string `json:"mode" default:"mrw"`
}

func (dev *Device) decode(d *decoder, n *document.Node, path string) {
	if n.Kind == document.StringKind {
		parts := strings.Split(n.Text, ":")
		if len(parts) < 2 || len(parts) > 3 {
			d.problem(n, path, fmt.Sprintf("expected host_path:container_path:mode, found %q", document.Clip(n.Text)), "")
			return
		}
		dev.HostPath, dev.ContainerPath = parts[0], parts[1]
		if len(parts) == 3 {
			dev.Mode = &parts[2]
		}
		return
	}
	d.object(n, path, valueOf(dev))
}

// Devices is a list; Merge combines the entries of both documents.
type Devices []Device

func (l Devices) onto(under any) any {
	return Devices(collect(l, under.(Devices), func(dev Device) string { return dev.ContainerPath }))
}

func (l Devices) check(k *checker, at string) {
	k.atMost(at, len(l), 100, "devices")
	for i, dev := range l {
		if mode := optional.Or(dev.Mode, "mrw"); mode == "" || strings.Trim(mode, "mrw") != "" || len(mode) > 3 {
			k.fail(document.Index(at, i)+".mode", fmt.Sprintf("must consist of the letters m, r and w, found %q", document.Clip(mode)), "")
		}
	}
}
