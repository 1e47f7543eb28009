package expconf

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/each"
)

// ContainerLimits is what tasks in images may request from their nodes. A user who may mount
// any folder of a node into a container in which the user is root controls the node; therefore
// the operators of a pool list what is allowed.
type ContainerLimits struct {
	HostPaths    []string // allowed in bind_mounts and checkpoint_storage: see package hostpath
	Devices      []string // allowed in resources.devices: a path, or /dev/x/* for all paths below /dev/x
	Capabilities []string // allowed in add_capabilities
	// Operators' are the mounts and devices of the cluster's own configuration; the lists above
	// need not name them.
	Operators ContainerAdditions
	// RegistryImages says that images must be of a registry: the driver reads other names as files
	// of the node, as root.
	RegistryImages bool
	// Reserved returns the folder of the platform that a mount at a path would hide; "" for
	// none.
	Reserved func(target string) string
}

// ContainerAdditions is what the operators' configuration adds to every task.
type ContainerAdditions struct {
	BindMounts   BindMounts
	Devices      Devices
	Capabilities []string
	Storage      string // host_path of the cluster's checkpoint storage
	Images       []string
}

// refused reports what is not open to a task in an image.
func (l *ContainerLimits) refused(k *checker, e Environment, mounts BindMounts, devices Devices) {
	if l == nil {
		return
	}
	for i, m := range mounts {
		at := document.Index("bind_mounts", i)
		l.refusedTarget(k, at, m.ContainerPath)
		if why, hint := l.closedHost(m.HostPath); why != "" && !l.operators(m) {
			k.fail(at+".host_path", why, hint)
		}
	}
	for i, d := range devices {
		operators := slices.ContainsFunc(l.Operators.Devices, func(o Device) bool { return o.HostPath == d.HostPath })
		if !operators && !openDevice(l.Devices, d.HostPath) {
			k.fail(document.Index("resources.devices", i)+".host_path", document.Clip(d.HostPath)+" is not allowed in this resource pool", openOnes(l.Devices, "allowed_devices"))
		}
	}
	open := slices.Concat(normalCapabilities(l.Capabilities), normalCapabilities(l.Operators.Capabilities))
	for i, name := range normalCapabilities(e.AddCapabilities) {
		if !slices.Contains(open, name) {
			k.fail(document.Index("environment.add_capabilities", i), document.Clip(name)+" is not allowed in this resource pool", openOnes(l.Capabilities, "allowed_capabilities"))
		}
	}
	l.refusedImages(k, e.Image)
	if a := e.RegistryAuth; a != nil {
		if _, _, err := a.Credentials(); err != nil {
			k.fail("environment.registry_auth", err.Error(), "")
		}
	}
}

// transports are the prefixes with which Podman's image library reads an image from elsewhere than a registry.
func transports() []string {
	return []string{"atomic", "containers-storage", "dir", "docker", "docker-archive", "docker-daemon", "oci", "oci-archive", "ostree", "sif", "tarball"}
}

// refusedImages reports images that are not of a registry.
func (l *ContainerLimits) refusedImages(k *checker, image Image) {
	if !l.RegistryImages {
		return
	}
	for _, i := range []struct{ device, name string }{{"cpu", image.CPU}, {"cuda", image.CUDA}, {"rocm", image.ROCM}} {
		transport, rest, _ := strings.Cut(i.name, ":")
		registry := transport == "docker" && strings.HasPrefix(rest, "//")
		file := slices.Contains(transports(), strings.ToLower(transport)) && !registry || strings.HasPrefix(i.name, "/") || strings.HasPrefix(i.name, ".") || strings.HasPrefix(rest, "/") && !registry
		if file && !slices.Contains(l.Operators.Images, i.name) {
			k.fail("environment.image."+i.device, document.Clip(i.name)+" is not the name of an image in a registry, and the driver podman would look for it on the node", "write registry/name:tag, or docker://registry/name:tag")
		}
	}
}

// refusedTarget reports a path in the task that would hide a folder of the platform.
func (l *ContainerLimits) refusedTarget(k *checker, at, target string) {
	if dir := l.reserved(target); dir != "" {
		k.fail(at+".container_path", fmt.Sprintf("a mount at %s would hide %s, which the task needs", document.Clip(target), dir), "choose another path")
	}
}

// refusedStorage reports a folder for checkpoints that the pool does not allow.
func (l *ContainerLimits) refusedStorage(k *checker, s CheckpointStorage) {
	if l == nil || s.Type != SharedFS || path.Clean(s.HostPath) == path.Clean(l.Operators.Storage) {
		return
	}
	if why, hint := l.closedHost(s.HostPath); why != "" {
		k.fail("checkpoint_storage.host_path", why, hint)
	} else if !l.writable(s.HostPath) {
		k.fail("checkpoint_storage.host_path", fmt.Sprintf("tasks may only read %s in this resource pool, and cannot store checkpoints there", document.Clip(s.HostPath)),
			"operators let tasks write with :rw at the end of an entry in allowed_host_paths")
	}
}

func (l *ContainerLimits) reserved(target string) string {
	if l.Reserved == nil || !path.IsAbs(target) {
		return ""
	}
	if rest, ok := strings.CutPrefix(path.Clean(target), ContainerWorkDir+"/"); ok && rest != "" {
		return "" // below the working directory: the same as a relative path
	}
	return l.Reserved(target)
}

// openDevice reports whether a list of devices contains p, or a pattern such as /dev/infiniband/* that
// matches p.
func openDevice(list []string, p string) bool {
	p = path.Clean(p)
	return slices.ContainsFunc(list, func(entry string) bool {
		if dir, below := strings.CutSuffix(entry, "/*"); below {
			return strings.HasPrefix(p, path.Clean("/"+dir)+"/") || dir == "" && p != "/"
		}
		return path.Clean(entry) == p
	})
}

func openOnes(list []string, key string) string {
	if len(list) == 0 {
		return "nothing is allowed; operators allow more with " + key
	}
	return "allowed are " + strings.Join(list, ", ")
}

// normalCapabilities formats capabilities as Docker lists them: NET_RAW.
func normalCapabilities(list []string) []string {
	return each.Of(list, func(name string) string { return strings.TrimPrefix(strings.ToUpper(name), "CAP_") })
}

// ContainerCapabilities lists the capabilities that are added to and dropped from a task in an
// image, in Docker's form.
func (e Environment) ContainerCapabilities() (add, drop []string) {
	return normalCapabilities(e.AddCapabilities), normalCapabilities(e.DropCapabilities)
}

// Credentials returns the username and password of a registry, from either form.
func (a *RegistryAuth) Credentials() (username, password string, err error) {
	switch {
	case a.Username != "" && a.Password != "":
		return a.Username, a.Password, oneLine(a.Username, a.Password)
	case a.Auth != "":
		text, err := base64.StdEncoding.DecodeString(a.Auth)
		name, word, found := strings.Cut(string(text), ":")
		if err != nil || !found {
			return "", "", fmt.Errorf("auth is not the base64 form of name:password")
		}
		return name, word, oneLine(name, word)
	}
	return "", "", fmt.Errorf("expected username and password, or auth, which is base64 of name:password; " +
		"Nomad's docker driver supports only these")
}

// oneLine rejects line breaks and NUL: Nomad reads the texts as one line of settings.
func oneLine(texts ...string) error {
	for _, t := range texts {
		if strings.ContainsAny(t, "\r\n\x00") {
			return fmt.Errorf("the username or the password contains a line break or a NUL character")
		}
	}
	return nil
}

// ContainerWorkDir is where programs in containers start.
const ContainerWorkDir = "/run/determined/workdir"

// linkedMounts is the folder for mounts whose target is in the working directory: the runner
// creates the working directory, as the task's user, only after the driver has mounted.
const linkedMounts = "/det-mounts"

// A ContainerMount is a bind mount as a driver makes it.
type ContainerMount struct {
	BindMount
	// Target is the path at which the driver mounts. Link, if it is not "", is the path at
	// which the runner creates a symbolic link to Target.
	Target, Link string
}

// InContainer returns the mounts as a driver makes them.
func (b BindMounts) InContainer() []ContainerMount {
	out := make([]ContainerMount, len(b))
	for i, m := range completed(b) {
		c := ContainerMount{BindMount: m, Target: path.Clean(m.ContainerPath)}
		if !path.IsAbs(c.Target) {
			c.Target = path.Join(ContainerWorkDir, c.Target)
		}
		if strings.HasPrefix(c.Target, ContainerWorkDir+"/") {
			c.Target, c.Link = fmt.Sprintf("%s/%d", linkedMounts, i), c.Target
		}
		out[i] = c
	}
	return out
}
